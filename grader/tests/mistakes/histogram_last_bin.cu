// 256 values need 256 bins; the last one is missing.
#include <cuda_runtime.h>

__global__ void count(const unsigned char* in, int n, unsigned* bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[in[i]], 1u);  // MISTAKE: out_of_bounds
}

int main() {
#ifdef FIXED
  const int n = 1024, bin_count = 256;
#else
  const int n = 1024, bin_count = 255;
#endif
  unsigned char* in;
  unsigned* bins;
  cudaMalloc(&in, n);
  cudaMalloc(&bins, bin_count * sizeof(unsigned));
  cudaMemset(in, 255, n);
  cudaMemset(bins, 0, bin_count * sizeof(unsigned));
  count<<<4, 256>>>(in, n, bins);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(bins);
  return 0;
}
