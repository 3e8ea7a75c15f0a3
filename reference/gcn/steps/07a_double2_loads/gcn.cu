// GCN, X * W, step 7a: two numbers a load.
//
// Idea    16 bytes a lane, from memory and from shared memory: half as many instructions for the same
//         bytes. Two numbers of X and sixteen pairs of W feed 32 multiplications.
// Shapes  X [v, 128], W [128, 16], Y [v, 16], fp64, row-major. Blocks of 128 rows, a thread a row. Shared
//         memory 8 * (128 * (K_TILE + 2) + 16 * K_TILE) bytes: 20 KB with K_TILE = 16.
// Cost    as step 6, with 17 loads from shared memory for 32 multiplications.
// Banks   a row of the tile is K_TILE + 2 numbers long: pairs stay aligned, and the eight lanes that are
//         served together meet in no bank.
// Sweep   -DK_TILE={4,8,16,32}
#include "rest_of_layer.cuh"

#ifndef K_TILE
#define K_TILE 16
#endif

namespace {

constexpr int kRows = 128;  // a block
constexpr int kTile = K_TILE;
static_assert(kTile >= 2 && kTile % 2 == 0 && kGcnFeatures % kTile == 0, "K_TILE divides the 128 features");

constexpr int kPairs = kTile / 2;             // of a row of X's tile
constexpr int kClassPairs = kGcnClasses / 2;  // of a row of W and of Y

struct Tile {
  double2 x[kRows][kPairs + 1];
  double2 w[kTile * kClassPairs];
};
static_assert(sizeof(Tile) <= 48 * 1024, "a tile fits static shared memory: K_TILE is at most 32");

// Columns [first, first + kTile) of the block's rows of X, and these rows of W. Rows beyond the end read the
// last one; what comes of them is not stored.
__device__ void load_tile(int rows, int first, const double* __restrict__ x, const double* __restrict__ w,
                          Tile& tile) {
  const int p = threadIdx.x % kPairs;
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int r = i * (kRows / kPairs) + threadIdx.x / kPairs;
    tile.x[r][p] = reinterpret_cast<const double2*>(x + min(r, rows - 1) * kGcnFeatures + first)[p];
  }
#pragma unroll
  for (int i = 0; i < (kTile * kClassPairs + kRows - 1) / kRows; ++i) {
    const int at = i * kRows + threadIdx.x;
    if (at < kTile * kClassPairs) tile.w[at] = reinterpret_cast<const double2*>(w + first * kGcnClasses)[at];
  }
}

// Adds a number of X times a row of W.
__device__ void add_row(double left, const double2* w, double2 (&sums)[kClassPairs]) {
#pragma unroll
  for (int c = 0; c < kClassPairs; ++c) {
    const double2 right = w[c];
    sums[c].x += left * right.x;
    sums[c].y += left * right.y;
  }
}

__global__ void __launch_bounds__(kRows)
    gcn_transform_double2_kernel(int vertices, const double* __restrict__ x, const double* __restrict__ w,
                                 double* __restrict__ y) {
  __shared__ Tile tile;
  const std::size_t first_row = blockIdx.x * static_cast<std::size_t>(kRows);
  const int rows = min(kRows, static_cast<int>(vertices - first_row));
  const int own = threadIdx.x;
  double2 sums[kClassPairs] = {};
  for (int first = 0; first < kGcnFeatures; first += kTile) {
    load_tile(rows, first, x + first_row * kGcnFeatures, w, tile);
    __syncthreads();
#pragma unroll
    for (int p = 0; p < kPairs; ++p) {
      const double2 left = tile.x[own][p];
      add_row(left.x, tile.w + 2 * p * kClassPairs, sums);
      add_row(left.y, tile.w + (2 * p + 1) * kClassPairs, sums);
    }
    __syncthreads();
  }
  if (own >= rows) return;
  double2* to = reinterpret_cast<double2*>(y + (first_row + own) * kGcnClasses);
#pragma unroll
  for (int c = 0; c < kClassPairs; ++c) to[c] = sums[c];
}

}  // namespace

cudaError_t gcn_transform(int vertices, const double* x, const double* w, double* y, GcnPlan*,
                          cudaStream_t stream) {
  const int blocks = (vertices + kRows - 1) / kRows;
  gcn_transform_double2_kernel<<<blocks, kRows, 0, stream>>>(vertices, x, w, y);
  return cudaGetLastError();
}
