// A barrier counts 64 threads, and one warp comes to it.
#include <cuda_runtime.h>

__global__ void meet(int* a) {
  if (threadIdx.x < 32) {
#ifdef FIXED
    asm volatile("bar.sync 1, 32;" ::: "memory");
#else
    asm volatile("bar.sync 1, 64;" ::: "memory");  // MISTAKE: barrier_count
#endif
  }
  a[threadIdx.x] = 1;
}

int main() {
  const int n = 1000;
  int* a;
  cudaMalloc(&a, n * sizeof(int));
  cudaMemset(a, 0, n * sizeof(int));
  meet<<<1, 64>>>(a);
  cudaDeviceSynchronize();
  cudaFree(a);
  return 0;
}
