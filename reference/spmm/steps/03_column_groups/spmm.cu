// SpMM, step 3: C groups of 32 columns a warp.
//
// Shapes  A [m, n] CSR, B [n, k], C [m, k] row-major; any k is correct, k >= 32 * C is the tuned case.
// Work    2 * nnz * k flop. Gathers 4 * nnz * k bytes of B.
// Cost    A is read once for each strip of 32 * C columns: C times less often than in step 2.
// Idea    A lane owns C columns, 32 apart. Each staged entry feeds C independent loads and fused
//         multiply-adds, which spreads the cost of fetching it and puts C gathers in flight. C groups are
//         taken when k > 32, one when k <= 32.
// Sweep   -DSPMM_D={1,2,4} -DSPMM_C={1,2,4}
#include <algorithm>
#include <cstdint>

#include "warpgrade/spmm.h"

#ifndef SPMM_D
#define SPMM_D 1
#endif
#ifndef SPMM_C
#define SPMM_C 4
#endif

namespace {

template <int kGroups_>
struct Tile {
  static constexpr int kLanes = 32;
  static constexpr int kGroups = kGroups_;           // groups of 32 columns a warp
  static constexpr int kColumns = kLanes * kGroups;  // columns of a strip
  static constexpr int kWarps = 8;                   // rows a block
  static constexpr int kBatch = kLanes * SPMM_D;     // entries staged at a time
  static constexpr int kSharedBytes = kWarps * kBatch * static_cast<int>(sizeof(int) + sizeof(float));
  static_assert(SPMM_D >= 1 && kSharedBytes <= 48 * 1024, "a staged batch must fit static shared memory");
  static_assert(kGroups >= 1 && kGroups <= 16, "one accumulator a group must fit registers");
};

// Grid: x = ceil(m / kWarps) row groups, y = strips of kColumns columns.
template <typename T>
__global__ void spmm_column_groups_kernel(int rows, int k, const int* __restrict__ row_offsets,
                                          const int* __restrict__ columns, const float* __restrict__ values,
                                          const float* __restrict__ b,  // [n, k]
                                          float* __restrict__ c) {      // [m, k]
  __shared__ int staged_columns[T::kWarps][T::kBatch];
  __shared__ float staged_values[T::kWarps][T::kBatch];
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * T::kWarps + threadIdx.y;
  if (row >= rows) return;
  const int lane = threadIdx.x, warp = threadIdx.y;
  const int begin = row_offsets[row], end = row_offsets[row + 1];
  for (int strip = blockIdx.y; strip * T::kColumns < k; strip += gridDim.y) {
    const float* b_column[T::kGroups];
    float sum[T::kGroups];
    for (int g = 0; g < T::kGroups; ++g) {
      const int column = strip * T::kColumns + g * T::kLanes + lane;
      b_column[g] = b + min(column, k - 1);  // edge lanes load what they will not store
      sum[g] = 0.0f;
    }
    for (int base = begin; base < end; base += T::kBatch) {
      const int count = min(T::kBatch, end - base);
      for (int i = lane; i < count; i += T::kLanes) {
        staged_columns[warp][i] = columns[base + i];
        staged_values[warp][i] = values[base + i];
      }
      __syncwarp();
#pragma unroll 4
      for (int i = 0; i < count; ++i) {
        const std::int64_t b_row = static_cast<std::int64_t>(staged_columns[warp][i]) * k;
        for (int g = 0; g < T::kGroups; ++g) sum[g] += staged_values[warp][i] * b_column[g][b_row];
      }
      __syncwarp();
    }
    for (int g = 0; g < T::kGroups; ++g) {
      const int column = strip * T::kColumns + g * T::kLanes + lane;
      if (column < k) c[row * k + column] = sum[g];
    }
  }
}

template <typename T>
cudaError_t launch(const CsrMatrix& a, int k, const float* b, float* c, cudaStream_t stream) {
  const unsigned row_groups = (static_cast<unsigned>(a.rows) + T::kWarps - 1) / T::kWarps;
  const unsigned strips = (static_cast<unsigned>(k) + T::kColumns - 1) / T::kColumns;
  const dim3 grid(row_groups, std::min(strips, 65535u)), block(T::kLanes, T::kWarps);
  spmm_column_groups_kernel<T>
      <<<grid, block, 0, stream>>>(a.rows, k, a.row_offsets, a.columns, a.values, b, c);
  return cudaGetLastError();
}

}  // namespace

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  if (a.rows == 0) return cudaSuccess;
  return k > 32 ? launch<Tile<SPMM_C>>(a, k, b, c, stream) : launch<Tile<1>>(a, k, b, c, stream);
}

void spmm_free(SpmmPlan*) {}
