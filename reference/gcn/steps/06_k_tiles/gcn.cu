// GCN, X * W, step 6: X comes in tiles of K_TILE columns through shared memory.
//
// Idea    all rows of a block do not fit in shared memory, a slice of K_TILE columns does. A block loads
//         it with neighbouring lanes on neighbouring numbers, then each thread reads its own row of the
//         tile.
// Shapes  X [v, 128], W [128, 16], Y [v, 16], fp64, row-major. Blocks of 128 rows, a thread a row. Shared
//         memory 8 * (128 * (K_TILE + 1) + 16 * K_TILE) bytes: 19 KB with K_TILE = 16.
// Cost    X passes through memory once, in whole sectors, and through shared memory once more. Two
//         barriers a tile.
// Banks   a row of the tile is K_TILE + 1 numbers long: lanes that read a column meet in no bank.
// Sweep   -DK_TILE={4,8,16,32}
#include "rest_of_layer.cuh"

#ifndef K_TILE
#define K_TILE 16
#endif

namespace {

constexpr int kRows = 128;  // a block
constexpr int kTile = K_TILE;
static_assert(kTile >= 1 && kGcnFeatures % kTile == 0, "K_TILE divides the 128 features");

struct Tile {
  double x[kRows][kTile + 1];
  double w[kTile * kGcnClasses];
};
static_assert(sizeof(Tile) <= 48 * 1024, "a tile fits static shared memory: K_TILE is at most 32");

// Columns [first, first + kTile) of the block's rows of X, and these rows of W. Rows beyond the end read the
// last one; what comes of them is not stored.
__device__ void load_tile(int rows, int first, const double* __restrict__ x, const double* __restrict__ w,
                          Tile& tile) {
  const int k = threadIdx.x % kTile;
#pragma unroll
  for (int i = 0; i < kTile; ++i) {
    const int r = i * (kRows / kTile) + threadIdx.x / kTile;
    tile.x[r][k] = x[min(r, rows - 1) * kGcnFeatures + first + k];
  }
#pragma unroll
  for (int i = 0; i < (kTile * kGcnClasses + kRows - 1) / kRows; ++i) {
    const int at = i * kRows + threadIdx.x;
    if (at < kTile * kGcnClasses) tile.w[at] = w[first * kGcnClasses + at];
  }
}

__global__ void __launch_bounds__(kRows)
    gcn_transform_k_tiles_kernel(int vertices, const double* __restrict__ x, const double* __restrict__ w,
                                 double* __restrict__ y) {
  __shared__ Tile tile;
  const std::size_t first_row = blockIdx.x * static_cast<std::size_t>(kRows);
  const int rows = min(kRows, static_cast<int>(vertices - first_row));
  const int own = threadIdx.x;
  double sums[kGcnClasses] = {};
  for (int first = 0; first < kGcnFeatures; first += kTile) {
    load_tile(rows, first, x + first_row * kGcnFeatures, w, tile);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kTile; ++k) {
      const double left = tile.x[own][k];
#pragma unroll
      for (int c = 0; c < kGcnClasses; ++c) sums[c] += left * tile.w[k * kGcnClasses + c];
    }
    __syncthreads();
  }
  if (own >= rows) return;
#pragma unroll
  for (int c = 0; c < kGcnClasses; ++c) y[(first_row + own) * kGcnClasses + c] = sums[c];
}

}  // namespace

cudaError_t gcn_transform(int vertices, const double* x, const double* w, double* y, GcnPlan*,
                          cudaStream_t stream) {
  const int blocks = (vertices + kRows - 1) / kRows;
  gcn_transform_k_tiles_kernel<<<blocks, kRows, 0, stream>>>(vertices, x, w, y);
  return cudaGetLastError();
}
