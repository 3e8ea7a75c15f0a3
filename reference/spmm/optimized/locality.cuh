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

// Counts sampled entries at most `reach` columns from the diagonal of A, stretched to cols / rows.
__global__ void spmm_near_diagonal_kernel(CsrMatrix a, std::int64_t reach, int* near) {
  const std::int64_t index = std::int64_t{blockIdx.x} * Sample::kThreads + threadIdx.x;
  const int at = static_cast<int>(index * a.nnz / Sample::kEntries);
  const std::int64_t diagonal = std::int64_t{row_of(a, at)} * a.cols / a.rows;
  const std::int64_t distance = a.columns[at] - diagonal;
  const int found = __syncthreads_count(distance >= -reach && distance <= reach);
  if (threadIdx.x == 0) atomicAdd(near, found);
}

}  // namespace optimized
