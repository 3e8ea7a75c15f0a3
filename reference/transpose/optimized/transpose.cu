// Transpose, optimized: tiles through shared memory, in vectors of four cells where the rows of both matrices
// begin at multiples of 16 bytes, and in single cells elsewhere. All loads of a thread are on their way
// before the first is used. Blocks take tiles down the columns of `in`, so that blocks that are at work at
// the same time write neighbouring pieces of the same rows: where rows begin anywhere, two blocks share a
// sector of 32 bytes, and L2 puts it together only if both come in time.
//
// Cost  8·rows·cols bytes; shared memory is read in columns, an odd pitch spreads them over the banks.
#include "warpgrade/transpose.h"

namespace {

constexpr int kTile = 64, kThreads = 256, kWarps = kThreads / 32;

// A thread moves four runs of four cells of a row of `in`, then of a row of `out`.
__global__ void __launch_bounds__(kThreads)
    transpose_vector_kernel(const float* in, int rows, int cols, float* out, int tile_rows) {
  __shared__ float tile[kTile][kTile + 1];
  const int top = blockIdx.x % tile_rows * kTile, left = blockIdx.x / tile_rows * kTile;
  const int four = threadIdx.x % 16 * 4, first = threadIdx.x / 16;
  float4 cells[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = top + first + 16 * i, col = left + four;
    if (row < rows && col < cols)
      cells[i] = __ldcs(reinterpret_cast<const float4*>(in + size_t(row) * cols + col));
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float* at = &tile[first + 16 * i][four];
    at[0] = cells[i].x;
    at[1] = cells[i].y;
    at[2] = cells[i].z;
    at[3] = cells[i].w;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int c = first + 16 * i, row = left + c, col = top + four;  // of out
    if (row < cols && col < rows)
      *reinterpret_cast<float4*>(out + size_t(row) * rows + col) =
          make_float4(tile[four][c], tile[four + 1][c], tile[four + 2][c], tile[four + 3][c]);
  }
}

// Tall tiles: long runs to write, which cost more than the short ones to read (measured on an H200: 154 us
// for 8193 x 8191; 64 x 64: 175, 32 x 32: 179, 128 x 32: 212).
constexpr int kCellsDown = 128, kCellsAcross = 32;

__global__ void __launch_bounds__(kThreads)
    transpose_cell_kernel(const float* in, int rows, int cols, float* out, int tile_rows) {
  __shared__ float tile[kCellsDown][kCellsAcross + 1];
  const int top = blockIdx.x % tile_rows * kCellsDown, left = blockIdx.x / tile_rows * kCellsAcross;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float cells[kCellsDown / kWarps];
#pragma unroll
  for (int i = 0; i < kCellsDown / kWarps; ++i) {
    const int row = top + warp + kWarps * i, col = left + lane;
    if (row < rows && col < cols) cells[i] = __ldg(in + size_t(row) * cols + col);
  }
#pragma unroll
  for (int i = 0; i < kCellsDown / kWarps; ++i) tile[warp + kWarps * i][lane] = cells[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kCellsAcross / kWarps; ++i) {
    const int c = warp + kWarps * i, row = left + c;  // of out
#pragma unroll
    for (int r = lane; r < kCellsDown; r += 32)
      if (row < cols && top + r < rows) out[size_t(row) * rows + top + r] = tile[r][c];
  }
}

}  // namespace

cudaError_t transpose_run(const float* in, int rows, int cols, float* out, cudaStream_t stream) {
  const auto tiles = [](int cells, int side) { return (cells + side - 1) / side; };
  if (rows % 4 == 0 && cols % 4 == 0) {
    const int tile_rows = tiles(rows, kTile);
    transpose_vector_kernel<<<tile_rows * tiles(cols, kTile), kThreads, 0, stream>>>(in, rows, cols, out,
                                                                                     tile_rows);
  } else {
    const int tile_rows = tiles(rows, kCellsDown);
    transpose_cell_kernel<<<tile_rows * tiles(cols, kCellsAcross), kThreads, 0, stream>>>(in, rows, cols, out,
                                                                                          tile_rows);
  }
  return cudaGetLastError();
}
