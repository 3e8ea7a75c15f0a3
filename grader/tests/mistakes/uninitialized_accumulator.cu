// Sums are added to memory that nobody cleared.
#include <cuda_runtime.h>

__global__ void total(const int* in, int* sum) {
  atomicAdd(sum, in[threadIdx.x]);  // MISTAKE: uninitialized_read
}

int main() {
  int *in, *sum;
  cudaMalloc(&in, 256);
  cudaMalloc(&sum, sizeof(int));
  cudaMemset(in, 0, 256);
#ifdef FIXED
  cudaMemset(sum, 0, sizeof(int));
#endif
  total<<<1, 64>>>(in, sum);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(sum);
  return 0;
}
