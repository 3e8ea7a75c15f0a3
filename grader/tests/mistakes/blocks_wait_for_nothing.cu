// A second block uses what the first one writes in the same launch.
#include <cuda_runtime.h>

__global__ void produce_and_consume(int* a, int* b, int phase) {
  if (blockIdx.x == 0 && phase != 2) a[threadIdx.x] = threadIdx.x + 1;
  if (blockIdx.x == 1 && phase != 1) b[threadIdx.x] = a[threadIdx.x];  // MISTAKE: global_race
}

int main() {
  int *a, *b;
  cudaMalloc(&a, 128);
  cudaMalloc(&b, 128);
  cudaMemset(a, 0, 128);
#ifdef FIXED
  produce_and_consume<<<2, 32>>>(a, b, 1);
  produce_and_consume<<<2, 32>>>(a, b, 2);
#else
  produce_and_consume<<<2, 32>>>(a, b, 0);
#endif
  cudaDeviceSynchronize();
  cudaFree(a);
  cudaFree(b);
  return 0;
}
