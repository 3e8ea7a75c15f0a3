// An assertion of the program's own fails.
#include <cuda_runtime.h>

#include <cassert>

__global__ void check(const int* a, int limit) {
  assert(a[threadIdx.x] < limit);  // MISTAKE: assert
}

int main() {
  int* a;
  cudaMalloc(&a, 128);
  cudaMemset(a, 1, 128);
#ifdef FIXED
  check<<<1, 32>>>(a, 0x7fffffff);
#else
  check<<<1, 32>>>(a, 5);
#endif
  cudaDeviceSynchronize();
  cudaFree(a);
  return 0;
}
