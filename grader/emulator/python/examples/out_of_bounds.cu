// The guard lets one thread too many through: warpemu ./out_of_bounds
#include <cstdio>

__global__ void square(float* numbers, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= count) numbers[i] *= numbers[i];
}

int main() {
  constexpr int kCount = 1000;
  float* numbers = nullptr;
  cudaMalloc(&numbers, kCount * sizeof(float));
  cudaMemset(numbers, 0, kCount * sizeof(float));
  square<<<4, 256>>>(numbers, kCount);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(numbers);
}
