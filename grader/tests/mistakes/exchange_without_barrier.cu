// Odd-even sorting in shared memory: the next round begins before all exchanges of this one are done.
#include <cuda_runtime.h>

__global__ void sort_in_block(int* keys) {
  constexpr int kKeys = 128;
  __shared__ int row[kKeys];
  const int t = threadIdx.x;
  row[t] = keys[t];
  __syncthreads();
  for (int round = 0; round < kKeys; ++round) {
    const int left = 2 * t + round % 2;
    if (left + 1 < kKeys) {
      const int a = row[left], b = row[left + 1];
      // CURE: __syncthreads()
      if (a > b) row[left] = b, row[left + 1] = a;  // MISTAKE: shared_race
    }
#ifdef FIXED
    __syncthreads();
#endif
  }
  __syncthreads();
  keys[t] = row[t];
}

int main() {
  int keys[128];
  for (int i = 0; i < 128; ++i) keys[i] = i * 61 % 128;
  int* on_device;
  cudaMalloc(&on_device, sizeof keys);
  cudaMemcpy(on_device, keys, sizeof keys, cudaMemcpyHostToDevice);
  sort_in_block<<<1, 128>>>(on_device);
  cudaDeviceSynchronize();
  cudaFree(on_device);
  return 0;
}
