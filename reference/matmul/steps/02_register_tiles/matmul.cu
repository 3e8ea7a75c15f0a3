// Matmul, step 2: a thread computes 8 x 8 cells, so that a number from shared memory serves eight products.
//
// Cost  2·m·n·k flop; 16 loads from shared memory for 64 products.
#include "warpgrade/matmul.h"

namespace {

constexpr int kRows = 128, kCols = 128, kDepth = 8, kEach = 8, kThreads = (kRows / kEach) * (kCols / kEach);

__global__ void __launch_bounds__(kThreads)
    matmul_kernel(const float* a, const float* b, int m, int n, int k, float* c) {
  __shared__ float tile_a[kDepth][kRows], tile_b[kDepth][kCols];
  const int top = blockIdx.y * kRows, left = blockIdx.x * kCols;
  const int thread_row = threadIdx.x / (kCols / kEach), thread_col = threadIdx.x % (kCols / kEach);
  float sums[kEach][kEach] = {};
  for (int first = 0; first < k; first += kDepth) {
    for (int t = threadIdx.x; t < kRows * kDepth; t += kThreads) {
      const int row = t / kDepth, i = t % kDepth;
      tile_a[i][row] = top + row < m && first + i < k ? a[size_t(top + row) * k + first + i] : 0;
    }
    for (int t = threadIdx.x; t < kCols * kDepth; t += kThreads) {
      const int i = t / kCols, col = t % kCols;
      tile_b[i][col] = first + i < k && left + col < n ? b[size_t(first + i) * n + left + col] : 0;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      float of_a[kEach], of_b[kEach];
#pragma unroll
      for (int r = 0; r < kEach; ++r) of_a[r] = tile_a[i][thread_row * kEach + r];
#pragma unroll
      for (int s = 0; s < kEach; ++s) of_b[s] = tile_b[i][thread_col + s * (kCols / kEach)];
#pragma unroll
      for (int r = 0; r < kEach; ++r) {
#pragma unroll
        for (int s = 0; s < kEach; ++s) sums[r][s] += of_a[r] * of_b[s];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kEach; ++r) {
    const int row = top + thread_row * kEach + r;
#pragma unroll
    for (int s = 0; s < kEach; ++s) {
      const int col = left + thread_col + s * (kCols / kEach);
      if (row < m && col < n) c[size_t(row) * n + col] = sums[r][s];
    }
  }
}

}  // namespace

cudaError_t matmul_run(const float* a, const float* b, int m, int n, int k, float* c, cudaStream_t stream) {
  const dim3 grid((n + kCols - 1) / kCols, (m + kRows - 1) / kRows);
  matmul_kernel<<<grid, kThreads, 0, stream>>>(a, b, m, n, k, c);
  return cudaGetLastError();
}
