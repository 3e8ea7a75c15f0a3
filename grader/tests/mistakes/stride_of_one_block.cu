// Each block steps by its own size, so all of them reach the elements of those behind.
#include <cuda_runtime.h>

__global__ void scale_all(float* values, int count, float factor) {
#ifdef FIXED
  const int step = blockDim.x * gridDim.x;
#else
  const int step = blockDim.x;
#endif
  // CURE: blockDim.x * gridDim.x
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    values[i] *= factor;  // MISTAKE: global_race
  }
}

int main() {
  constexpr int kCount = 3000;
  float* values;
  cudaMalloc(&values, kCount * sizeof(float));
  cudaMemset(values, 0x3f, kCount * sizeof(float));
  scale_all<<<6, 128>>>(values, kCount, 1.5f);
  cudaDeviceSynchronize();
  cudaFree(values);
  return 0;
}
