// The copy's destination is the address of the variable that holds the pointer.
#include <cuda_runtime.h>

int main() {
  float weights[64] = {};
  float* on_device;
  cudaMalloc(&on_device, sizeof weights);
#ifdef FIXED
  cudaMemcpy(on_device, weights, sizeof weights, cudaMemcpyHostToDevice);
#else
  // CURE: `d`, not `&d`
  cudaMemcpy(&on_device, weights, sizeof weights, cudaMemcpyHostToDevice);  // MISTAKE: invalid_copy
#endif
  cudaFree(on_device);
  return 0;
}
