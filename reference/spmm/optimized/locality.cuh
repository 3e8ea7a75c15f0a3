// How much of A lies near the diagonal, from a sample of its entries. Rows that run at the same time are
// neighbours: where their columns are, too, L2 holds what they share, however wide B is. Renaming the nodes
// of a graph at random takes this away, and the measure with it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "warpgrade/csr.h"

namespace optimized {

struct Sample {
  static constexpr int kThreads = 256, kBlocks = 32;
  static constexpr int kEntries = kThreads * kBlocks;
};

// The row of entry `at`: the last one that begins at or before it and is not empty.
__device__ inline int row_of(const CsrMatrix& a, int at) {
  int low = 0, high = a.rows;  // row_offsets[low] <= at < row_offsets[high]
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (a.row_offsets[middle] <= at ? low : high) = middle;
  }
  return low;
}

struct SampleCounts {
  int near;     // the diagonal of A, stretched to cols / rows: at most `reach` columns away
  int in_long;  // rows of more than kShortRow entries
};

__global__ void spmm_sample_kernel(CsrMatrix a, std::int64_t reach, SampleCounts* counts) {
  const std::int64_t index = std::int64_t{blockIdx.x} * Sample::kThreads + threadIdx.x;
  const int at = static_cast<int>(index * a.nnz / Sample::kEntries), row = row_of(a, at);
  const std::int64_t distance = a.columns[at] - std::int64_t{row} * a.cols / a.rows;
  const int near = __syncthreads_count(distance >= -reach && distance <= reach);
  const int in_long = __syncthreads_count(a.row_offsets[row + 1] - a.row_offsets[row] > kShortRow);
  if (threadIdx.x > 0) return;
  atomicAdd(&counts->near, near);
  atomicAdd(&counts->in_long, in_long);
}

}  // namespace optimized
