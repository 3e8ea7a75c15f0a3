// Transpose, optimized: tiles of 64 x 64 through shared memory, sixteen cells a thread in flight. Blocks that
// are at work at the same time lie in a band of a few tile rows, so that what they read and what they write
// is some kilobytes long in each row: DRAM likes neither many short pieces to read nor to write.
//
// Cost  8·rows·cols bytes, without bank conflicts; stores are whole lines wherever rows is a multiple of 32.
#include "warpgrade/transpose.h"

#ifndef TRANSPOSE_BAND
#define TRANSPOSE_BAND 16  // tile rows
#endif

namespace {

constexpr int kTile = 64, kThreadRows = 8;

template <bool kWhole>
__device__ void transpose_tile(const float* in, int rows, int cols, float* out, int top, int left) {
  __shared__ float tile[kTile][kTile + 1];
#pragma unroll
  for (int r = threadIdx.y; r < kTile; r += kThreadRows) {
#pragma unroll
    for (int c = threadIdx.x; c < kTile; c += 32) {
      const int row = top + r, col = left + c;
      if (kWhole || (row < rows && col < cols)) tile[r][c] = __ldcs(in + size_t(row) * cols + col);
    }
  }
  __syncthreads();
#pragma unroll
  for (int r = threadIdx.y; r < kTile; r += kThreadRows) {
#pragma unroll
    for (int c = threadIdx.x; c < kTile; c += 32) {
      const int row = left + r, col = top + c;  // of out
      if (kWhole || (row < cols && col < rows)) out[size_t(row) * rows + col] = tile[c][r];
    }
  }
}

// Tiles are numbered down the columns of a band, band after band.
__global__ void __launch_bounds__(32 * kThreadRows)
    transpose_kernel(const float* in, int rows, int cols, float* out, int tile_rows, int tile_cols) {
  const int a_band = TRANSPOSE_BAND * tile_cols, band = blockIdx.x / a_band, place = blockIdx.x % a_band;
  const int first = band * TRANSPOSE_BAND, height = min(TRANSPOSE_BAND, tile_rows - first);
  const int top = (first + place % height) * kTile, left = place / height * kTile;
  if (top + kTile <= rows && left + kTile <= cols) {
    transpose_tile<true>(in, rows, cols, out, top, left);
  } else {
    transpose_tile<false>(in, rows, cols, out, top, left);
  }
}

}  // namespace

cudaError_t transpose_run(const float* in, int rows, int cols, float* out, cudaStream_t stream) {
  const int tile_rows = (rows + kTile - 1) / kTile, tile_cols = (cols + kTile - 1) / kTile;
  const dim3 block(32, kThreadRows);
  transpose_kernel<<<tile_rows * tile_cols, block, 0, stream>>>(in, rows, cols, out, tile_rows, tile_cols);
  return cudaGetLastError();
}
