// Blocks add to one place without an atomic operation.
#include <cuda_runtime.h>

__global__ void sum_blocks(const int* in, int* total) {
#ifdef FIXED
  if (threadIdx.x == 0) atomicAdd(total, in[blockIdx.x]);
#else
  if (threadIdx.x == 0) *total += in[blockIdx.x];  // MISTAKE: global_race
#endif
}

int main() {
  int *in, *total;
  cudaMalloc(&in, 256);
  cudaMalloc(&total, 4);
  cudaMemset(in, 1, 256);
  cudaMemset(total, 0, 4);
  sum_blocks<<<64, 32>>>(in, total);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(total);
  return 0;
}
