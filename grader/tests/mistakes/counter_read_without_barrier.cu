// One thread reads the counter while others still add to it.
#include <cuda_runtime.h>

__global__ void count_positive(const int* in, int* out) {
  __shared__ int positive;
  if (threadIdx.x == 0) positive = 0;
  __syncthreads();
  if (in[threadIdx.x] > 0) atomicAdd(&positive, 1);
#ifdef FIXED
  __syncthreads();
#endif
  if (threadIdx.x == 0) *out = positive;  // MISTAKE: shared_race
}

int main() {
  int *in, *out;
  cudaMalloc(&in, 256);
  cudaMalloc(&out, 4);
  cudaMemset(in, 1, 256);
  count_positive<<<1, 64>>>(in, out);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
  return 0;
}
