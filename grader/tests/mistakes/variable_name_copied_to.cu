// In host code the name of a device variable is no device address.
#include <cuda_runtime.h>

__device__ float filter_taps[8];

__global__ void apply_taps(float* signal) {
  signal[threadIdx.x] *= filter_taps[threadIdx.x % 8];
}

int main() {
  const float taps[8] = {1, 2, 3, 4, 4, 3, 2, 1};
  float* signal;
  cudaMalloc(&signal, 32 * sizeof(float));
  cudaMemset(signal, 0, 32 * sizeof(float));
#ifdef FIXED
  cudaMemcpyToSymbol(filter_taps, taps, sizeof taps);
#else
  // CURE: cudaMemcpyToSymbol
  cudaMemcpy(filter_taps, taps, sizeof taps, cudaMemcpyHostToDevice);  // MISTAKE: invalid_copy
#endif
  apply_taps<<<1, 32>>>(signal);
  cudaDeviceSynchronize();
  cudaFree(signal);
  return 0;
}
