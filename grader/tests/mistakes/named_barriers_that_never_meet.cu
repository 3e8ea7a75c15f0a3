// Two halves of the block wait at barriers of different numbers, each for all 64 threads.
#include <cuda_runtime.h>

__global__ void meet(int* a) {
#ifdef FIXED
  asm volatile("bar.sync 1, 64;" ::: "memory");
#else
  if (threadIdx.x < 32)
    asm volatile("bar.sync 1, 64;" ::: "memory");  // MISTAKE: barrier_deadlock
  else
    asm volatile("bar.sync 2, 64;" ::: "memory");
#endif
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
