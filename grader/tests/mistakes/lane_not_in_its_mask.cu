// Sixteen lanes call with a mask that names the other sixteen.
#include <cuda_runtime.h>

__global__ void vote(int* a) {
#ifdef FIXED
  unsigned mask = threadIdx.x < 16 ? 0x0000ffff : 0xffff0000;
#else
  unsigned mask = 0x0000ffff;
#endif
  a[threadIdx.x] = __ballot_sync(mask, threadIdx.x & 1);  // MISTAKE: wrong_mask
}

int main() {
  const int n = 1000;
  int* a;
  cudaMalloc(&a, n * sizeof(int));
  cudaMemset(a, 0, n * sizeof(int));
  vote<<<1, 32>>>(a);
  cudaDeviceSynchronize();
  cudaFree(a);
  return 0;
}
