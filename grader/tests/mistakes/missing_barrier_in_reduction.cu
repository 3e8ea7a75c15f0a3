// Each step of the tree reads what others wrote in the step before.
#include <cuda_runtime.h>

__global__ void reduce(const int* in, int* out) {
  __shared__ int sums[256];
  sums[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];  // MISTAKE: shared_race
#ifdef FIXED
    __syncthreads();
#endif
  }
  if (threadIdx.x == 0) *out = sums[0];
}

int main() {
  int *in, *out;
  cudaMalloc(&in, 1024);
  cudaMalloc(&out, 4);
  cudaMemset(in, 1, 1024);
  reduce<<<1, 256>>>(in, out);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
  return 0;
}
