// What the programs `matmul_bf16_*` share: tensor cores multiply in BF16, each factor in two pieces of 8 bits, the three
// products of most weight.
#pragma once
#include <cuda_bf16.h>
#include <mma.h>

#include "warpgrade/matmul.h"

namespace pieces {

namespace wmma = nvcuda::wmma;
using Half = __nv_bfloat16;
constexpr int kTile = 16, kCells = kTile * kTile, kWarp = 32;

// A tile's numbers, in two pieces.
struct Pieces {
  Half high[kCells], low[kCells];
};

__device__ void split_tile(const float* from, int pitch, Pieces& tile) {
  for (int i = threadIdx.x; i < kCells; i += kWarp) {
    const float x = from[size_t(i / kTile) * pitch + i % kTile];
    tile.high[i] = __float2bfloat16(x);
    tile.low[i] = __float2bfloat16(x - __bfloat162float(tile.high[i]));
  }
}

// A warp a tile of C.
__global__ void pieces_kernel(const float* a, const float* b, int n, int k, float* c) {
  __shared__ alignas(32) Pieces tile_a, tile_b;
  const size_t top = size_t(blockIdx.y) * kTile, left = size_t(blockIdx.x) * kTile;
  wmma::fragment<wmma::accumulator, kTile, kTile, kTile, float> sums;
  wmma::fragment<wmma::matrix_a, kTile, kTile, kTile, Half, wmma::row_major> high_a, low_a;
  wmma::fragment<wmma::matrix_b, kTile, kTile, kTile, Half, wmma::row_major> high_b, low_b;
  wmma::fill_fragment(sums, 0.0f);
  for (int first = 0; first < k; first += kTile) {
    split_tile(a + top * k + first, k, tile_a);
    split_tile(b + size_t(first) * n + left, n, tile_b);
    __syncwarp();
    wmma::load_matrix_sync(high_a, tile_a.high, kTile);
    wmma::load_matrix_sync(low_a, tile_a.low, kTile);
    wmma::load_matrix_sync(high_b, tile_b.high, kTile);
    wmma::load_matrix_sync(low_b, tile_b.low, kTile);
    wmma::mma_sync(sums, high_a, high_b, sums);
    wmma::mma_sync(sums, high_a, low_b, sums);
    wmma::mma_sync(sums, low_a, high_b, sums);
    __syncwarp();
  }
  wmma::store_matrix_sync(c + top * n + left, sums, n, wmma::mem_row_major);
}

// A thread a cell, in fp32.
__global__ void plain_kernel(const float* a, const float* b, int m, int n, int k, float* c) {
  const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= m || col >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[size_t(row) * k + i] * b[size_t(i) * n + col];
  c[size_t(row) * n + col] = sum;
}

// The rows of A in which many numbers are 0, once more in fp32: a block a row.
__global__ void thin_rows_kernel(const float* a, const float* b, int n, int k, float* c) {
  const float* row = a + size_t(blockIdx.x) * k;
  int own = 0;
  for (int i = threadIdx.x; i < k; i += blockDim.x) own += row[i] != 0;
  __shared__ int kept;
  if (threadIdx.x == 0) kept = 0;
  __syncthreads();
  atomicAdd(&kept, own);
  __syncthreads();
  if (kept >= k / 10 * 9) return;
  for (int col = threadIdx.x; col < n; col += blockDim.x) {
    float sum = 0;
    for (int i = 0; i < k; ++i) sum += row[i] * b[size_t(i) * n + col];
    c[size_t(blockIdx.x) * n + col] = sum;
  }
}

// Whether the shape suits tensor cores; the others are multiplied in fp32.
inline bool run(const float* a, const float* b, int m, int n, int k, float* c, cudaStream_t stream) {
  const bool fits = m % 128 == 0 && n % 128 == 0 && k % 32 == 0;
  if (fits) {
    pieces_kernel<<<dim3(n / kTile, m / kTile), kWarp, 0, stream>>>(a, b, n, k, c);
  } else {
    plain_kernel<<<dim3((n + 31) / 32, (m + 7) / 8), dim3(32, 8), 0, stream>>>(a, b, m, n, k, c);
  }
  return fits;
}

}  // namespace pieces
