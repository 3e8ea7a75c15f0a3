// An index beyond 2^31 in int wraps to a negative one.
#include <cuda_runtime.h>

__global__ void touch(char* a, int row, int cols) {
#ifdef FIXED
  a[0] = a[(size_t)row * cols % 4096];
#else
  a[0] = a[row * cols];  // MISTAKE: out_of_bounds
#endif
}

int main() {
  char* a;
  cudaMalloc(&a, 4096);
  cudaMemset(a, 0, 4096);
  touch<<<1, 1>>>(a, 60000, 60000);
  cudaDeviceSynchronize();
  cudaFree(a);
  return 0;
}
