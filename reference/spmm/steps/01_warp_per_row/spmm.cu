// SpMM, step 1: a warp a row, 32 columns a lane-wide strip.
//
// Shapes  A [m, n] CSR, B [n, k], C [m, k] row-major.
// Work    2 * nnz * k flop. Gathers 4 * nnz * k bytes of B in whole 128-byte lines.
// Cost    A is read once for each strip of 32 columns, as broadcasts; one gather in flight at a time.
// Idea    Lane l owns column l of a strip, so that the 32 lanes read 32 neighbouring floats of one row of B:
//         one request is four full sectors instead of 32 sectors for 4 useful bytes each.
#include <cstdint>

#include "warpgrade/spmm.h"

namespace {

struct Tile {
  static constexpr int kLanes = 32;  // columns of a strip: one a lane
  static constexpr int kWarps = 8;   // rows a block
  static constexpr int kThreads = kLanes * kWarps;
  static_assert(kThreads <= 1024, "a block has at most 1024 threads");
};

// Grid: x = ceil(m / kWarps) row groups, y = strips of 32 columns.
__global__ void spmm_warp_per_row_kernel(int rows, int k, const int* __restrict__ row_offsets,
                                         const int* __restrict__ columns, const float* __restrict__ values,
                                         const float* __restrict__ b,  // [n, k]
                                         float* __restrict__ c) {      // [m, k]
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * Tile::kWarps + threadIdx.y;
  if (row >= rows) return;
  const int begin = row_offsets[row], end = row_offsets[row + 1];
  for (int strip = blockIdx.y; strip * Tile::kLanes < k; strip += gridDim.y) {
    const int column = strip * Tile::kLanes + threadIdx.x;
    if (column >= k) return;
    float sum = 0.0f;
    for (int e = begin; e < end; ++e) {
      sum += values[e] * b[static_cast<std::int64_t>(columns[e]) * k + column];
    }
    c[row * k + column] = sum;
  }
}

}  // namespace

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  if (a.rows == 0) return cudaSuccess;
  const unsigned row_groups = (static_cast<unsigned>(a.rows) + Tile::kWarps - 1) / Tile::kWarps;
  const unsigned strips = (static_cast<unsigned>(k) + Tile::kLanes - 1) / Tile::kLanes;
  const dim3 grid(row_groups, strips < 65535 ? strips : 65535), block(Tile::kLanes, Tile::kWarps);
  spmm_warp_per_row_kernel<<<grid, block, 0, stream>>>(a.rows, k, a.row_offsets, a.columns, a.values, b, c);
  return cudaGetLastError();
}

void spmm_free(SpmmPlan*) {}
