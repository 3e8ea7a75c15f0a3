// Threads read a sum before all have written to it: warpemu --checks all ./race
#include <cstdio>

__global__ void sum(const int* numbers, int* result) {
  __shared__ int parts[256];
  parts[threadIdx.x] = numbers[threadIdx.x];
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    // A barrier is missing here.
  }
  if (threadIdx.x == 0) *result = parts[0];
}

int main() {
  int host[256], *numbers = nullptr, *result = nullptr, found = 0;
  for (int i = 0; i < 256; ++i) host[i] = i;
  cudaMalloc(&numbers, sizeof(host));
  cudaMalloc(&result, sizeof(int));
  cudaMemcpy(numbers, host, sizeof(host), cudaMemcpyHostToDevice);
  sum<<<1, 256>>>(numbers, result);
  cudaMemcpy(&found, result, sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d (right: 32640)\n", found);
  cudaFree(numbers);
  cudaFree(result);
}
