// Matmul, step 1: tiles of 32 x 32 of A and B in shared memory, each number of which 32 threads read.
//
// Cost  2·m·n·k flop; a product loads two numbers from shared memory.
#include "warpgrade/matmul.h"

namespace {

constexpr int kTile = 32;

__global__ void __launch_bounds__(kTile* kTile)
    matmul_kernel(const float* a, const float* b, int m, int n, int k, float* c) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, col = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int first = 0; first < k; first += kTile) {
    const int i = first + threadIdx.x, j = first + threadIdx.y;
    tile_a[threadIdx.y][threadIdx.x] = row < m && i < k ? a[size_t(row) * k + i] : 0;
    tile_b[threadIdx.y][threadIdx.x] = j < k && col < n ? b[size_t(j) * n + col] : 0;
    __syncthreads();
#pragma unroll
    for (int t = 0; t < kTile; ++t) sum += tile_a[threadIdx.y][t] * tile_b[t][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) c[size_t(row) * n + col] = sum;
}

}  // namespace

cudaError_t matmul_run(const float* a, const float* b, int m, int n, int k, float* c, cudaStream_t stream) {
  const dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile), block(kTile, kTile);
  matmul_kernel<<<grid, block, 0, stream>>>(a, b, m, n, k, c);
  return cudaGetLastError();
}
