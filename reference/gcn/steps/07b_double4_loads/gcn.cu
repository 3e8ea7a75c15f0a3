// GCN, X * W, step 7b: four numbers a load.
//
// Idea    32 bytes a lane from memory, the double2 of step 7a made twice as wide. Shared memory is read
//         by pairs as before.
// Shapes  X [v, 128], W [128, 16], Y [v, 16], fp64, row-major. Blocks of 128 rows, a thread a row. Shared
//         memory 8 * (128 * (K_TILE + 2) + 16 * K_TILE) bytes: 20 KB with K_TILE = 16.
// Cost    as step 7a. Loads of 32 bytes exist from sm_100 on; before, the compiler makes two of 16, each
//         of which takes half of every sector that it touches: the other half comes from L1 if it is
//         still there.
// Sweep   -DK_TILE={4,8,16,32}
#include "rest_of_layer.cuh"

#ifndef K_TILE
#define K_TILE 16
#endif

namespace {

constexpr int kRows = 128;  // a block
constexpr int kTile = K_TILE;
static_assert(kTile >= 4 && kTile % 4 == 0 && kGcnFeatures % kTile == 0, "K_TILE divides the 128 features");

constexpr int kPairs = kTile / 2, kFours = kTile / 4;                        // of a row of X's tile
constexpr int kClassPairs = kGcnClasses / 2, kClassFours = kGcnClasses / 4;  // of a row of W and of Y

// double4 with the alignment that one load of 32 bytes needs; CUDA's own has two names, by version.
struct alignas(32) Double4 {
  double2 low, high;
};

struct Tile {
  double2 x[kRows][kPairs + 1];
  double2 w[kTile * kClassPairs];
};
static_assert(sizeof(Tile) <= 48 * 1024, "a tile fits static shared memory: K_TILE is at most 32");

// Columns [first, first + kTile) of the block's rows of X, and these rows of W. Rows beyond the end read the
// last one; what comes of them is not stored.
__device__ void load_tile(int rows, int first, const double* __restrict__ x, const double* __restrict__ w,
                          Tile& tile) {
  const int q = threadIdx.x % kFours;
#pragma unroll
  for (int i = 0; i < kFours; ++i) {
    const int r = i * (kRows / kFours) + threadIdx.x / kFours;
    const Double4 four = reinterpret_cast<const Double4*>(x + min(r, rows - 1) * kGcnFeatures + first)[q];
    tile.x[r][2 * q] = four.low;
    tile.x[r][2 * q + 1] = four.high;
  }
#pragma unroll
  for (int i = 0; i < (kTile * kClassFours + kRows - 1) / kRows; ++i) {
    const int at = i * kRows + threadIdx.x;
    if (at >= kTile * kClassFours) continue;
    const Double4 four = reinterpret_cast<const Double4*>(w + first * kGcnClasses)[at];
    tile.w[2 * at] = four.low;
    tile.w[2 * at + 1] = four.high;
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
    gcn_transform_double4_kernel(int vertices, const double* __restrict__ x, const double* __restrict__ w,
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
  Double4* to = reinterpret_cast<Double4*>(y + (first_row + own) * kGcnClasses);
#pragma unroll
  for (int c = 0; c < kClassFours; ++c) to[c] = {sums[2 * c], sums[2 * c + 1]};
}

}  // namespace

cudaError_t gcn_transform(int vertices, const double* x, const double* w, double* y, GcnPlan*,
                          cudaStream_t stream) {
  const int blocks = (vertices + kRows - 1) / kRows;
  gcn_transform_double4_kernel<<<blocks, kRows, 0, stream>>>(vertices, x, w, y);
  return cudaGetLastError();
}
