// Each thread counts in an array of its own that nobody cleared.
#include <cuda_runtime.h>

__global__ void most_frequent(const int* keys, int* out) {
#ifdef FIXED
  int bins[16] = {};
#else
  int bins[16];
#endif
  for (int k = 0; k < 8; ++k) ++bins[keys[8 * threadIdx.x + k] % 16];  // MISTAKE: uninitialized_read
  out[threadIdx.x] = bins[keys[threadIdx.x] % 16];
}

int main() {
  const int n = 64;
  int *keys, *out;
  cudaMalloc(&keys, 8 * n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMemset(keys, 1, 8 * n * sizeof(int));
  most_frequent<<<1, n>>>(keys, out);
  cudaDeviceSynchronize();
  cudaFree(keys);
  cudaFree(out);
  return 0;
}
