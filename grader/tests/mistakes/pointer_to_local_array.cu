// One thread publishes a pointer to its local array; each thread that follows it finds its own.
#include <cuda_runtime.h>

__global__ void first_histogram(const int* keys, int* out) {
  __shared__ int* histogram;
  __shared__ int shared_bins[8];
  int bins[8] = {};
  for (int k = 0; k < 4; ++k) ++bins[keys[threadIdx.x + k] % 8];
  if (threadIdx.x == 0) {
    for (int k = 0; k < 8; ++k) shared_bins[k] = bins[k];
#ifdef FIXED
    histogram = shared_bins;
#else
    histogram = bins;
#endif
  }
  __syncthreads();
  out[threadIdx.x] = histogram[keys[threadIdx.x] % 8];  // MISTAKE: foreign_stack
}

int main() {
  const int n = 64;
  int *keys, *out;
  cudaMalloc(&keys, (n + 3) * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMemset(keys, 1, (n + 3) * sizeof(int));
  first_histogram<<<1, n>>>(keys, out);
  cudaDeviceSynchronize();
  cudaFree(keys);
  cudaFree(out);
  return 0;
}
