// SpMM, step 2: A staged in shared memory in batches of 32 * D entries.
//
// Shapes  A [m, n] CSR, B [n, k], C [m, k] row-major; any k is correct, multiples of 32 are the tuned case.
// Work    2 * nnz * k flop. Gathers 4 * nnz * k bytes of B.
// Cost    A is still read once for each strip of 32 columns, but by 128-byte requests, not by broadcasts.
// Idea    The 32 lanes load 32 * D entries of the row together; then every lane walks the batch in shared
//         memory. The addresses of many rows of B are known at once, so their loads overlap.
// Sweep   -DSPMM_D={1,2,4}
#include <algorithm>
#include <cstdint>

#include "warpgrade/spmm.h"

#ifndef SPMM_D
#define SPMM_D 1
#endif

namespace {

struct Tile {
  static constexpr int kLanes = 32;
  static constexpr int kWarps = 8;                // rows a block
  static constexpr int kBatch = kLanes * SPMM_D;  // entries staged at a time
  static constexpr int kSharedBytes = kWarps * kBatch * static_cast<int>(sizeof(int) + sizeof(float));
  static_assert(SPMM_D >= 1 && kSharedBytes <= 48 * 1024, "a staged batch must fit static shared memory");
};

// Grid: x = ceil(m / kWarps) row groups, y = strips of 32 columns.
__global__ void spmm_staged_kernel(int rows, int k, const int* __restrict__ row_offsets,
                                   const int* __restrict__ columns, const float* __restrict__ values,
                                   const float* __restrict__ b,  // [n, k]
                                   float* __restrict__ c) {      // [m, k]
  __shared__ int staged_columns[Tile::kWarps][Tile::kBatch];
  __shared__ float staged_values[Tile::kWarps][Tile::kBatch];
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * Tile::kWarps + threadIdx.y;
  if (row >= rows) return;
  const int lane = threadIdx.x, warp = threadIdx.y;
  const int begin = row_offsets[row], end = row_offsets[row + 1];
  for (int strip = blockIdx.y; strip * Tile::kLanes < k; strip += gridDim.y) {
    const int column = strip * Tile::kLanes + lane;
    const float* b_column = b + min(column, k - 1);  // lanes past the edge load what they will not store
    float sum = 0.0f;
    for (int base = begin; base < end; base += Tile::kBatch) {
      const int count = min(Tile::kBatch, end - base);
      for (int i = lane; i < count; i += Tile::kLanes) {
        staged_columns[warp][i] = columns[base + i];
        staged_values[warp][i] = values[base + i];
      }
      __syncwarp();
#pragma unroll 4
      for (int i = 0; i < count; ++i) {
        sum += staged_values[warp][i] * b_column[static_cast<std::int64_t>(staged_columns[warp][i]) * k];
      }
      __syncwarp();  // nobody refills the batch before everybody has used it
    }
    if (column < k) c[row * k + column] = sum;
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
  const dim3 grid(row_groups, std::min(strips, 65535u)), block(Tile::kLanes, Tile::kWarps);
  spmm_staged_kernel<<<grid, block, 0, stream>>>(a.rows, k, a.row_offsets, a.columns, a.values, b, c);
  return cudaGetLastError();
}

void spmm_free(SpmmPlan*) {}
