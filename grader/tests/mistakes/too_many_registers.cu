// Each thread keeps a row of 160 numbers in registers, and the block is as large as blocks can be.
#include <cuda_runtime.h>

__global__ void smooth_rows(float* rows, int rounds) {
  constexpr int kLength = 160;
  float row[kLength];
  float* mine = rows + threadIdx.x * kLength;
#pragma unroll
  for (int i = 0; i < kLength; ++i) row[i] = mine[i];
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < kLength; ++i) row[i] = 0.5f * row[(i * 3 + 1) % kLength] + 0.5f * row[i] * row[i];
  }
#pragma unroll
  for (int i = 0; i < kLength; ++i) mine[i] = row[i];
}

int main() {
  constexpr int kRows = 1024;
  float* rows;
  cudaMalloc(&rows, kRows * 160 * sizeof(float));
  cudaMemset(rows, 0, kRows * 160 * sizeof(float));
#ifdef FIXED
  for (int first = 0; first < kRows; first += 256) smooth_rows<<<1, 256>>>(rows + first * 160, 2);
#else
  // CURE: __launch_bounds__(1024)
  smooth_rows<<<1, kRows>>>(rows, 2);  // MISTAKE: invalid_launch
#endif
  cudaDeviceSynchronize();
  cudaFree(rows);
  return 0;
}
