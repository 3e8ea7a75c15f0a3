// The kernel for k = 1 where rows are of all lengths: blocks take equal ranges of A, whatever the rows.
//
// Idea    A block takes rows that begin within kSteps steps, where an entry and a row are a step each. All
// threads load the
//         entries, coalesced, and put products into shared memory; then groups of lanes add up the rows from
//         there, and warps those that are much longer than the mean. No row lies in two blocks: one that is
//         longer than kSteps would be a block's last, and is left to the list of long items instead.
// Cost    16 bytes a block in the plan; at most 2 * kSteps floats of shared memory.
#pragma once

#include "one_column.cuh"

namespace optimized {

#ifndef SPMM_STREAM_THREADS
#define SPMM_STREAM_THREADS 256
#endif
#ifndef SPMM_STREAM_STEPS
#define SPMM_STREAM_STEPS 2048
#endif
#ifndef SPMM_STREAM_BLOCKS
#define SPMM_STREAM_BLOCKS (2048 / SPMM_STREAM_THREADS * 3 / 4)
#endif
#ifndef SPMM_STREAM_VECTOR
#define SPMM_STREAM_VECTOR 1
#endif

struct Stream {
  static constexpr int kThreads = SPMM_STREAM_THREADS;
  static constexpr int kWarpLanes = 32;
  static constexpr int kWarps = kThreads / kWarpLanes;
  static constexpr int kSteps = SPMM_STREAM_STEPS;    // also the longest row it takes
  static constexpr int kVector = SPMM_STREAM_VECTOR;  // neighbouring entries a lane loads at once
  static constexpr int kInFlight = 8;                 // entries a thread has under way
  static constexpr int kLoads = kInFlight / kVector;
  static constexpr int kBlocksPerSm = SPMM_STREAM_BLOCKS;
  static constexpr int kRounds = 4;  // of long_row
  static constexpr int kMostProducts = 2 * kSteps + 8;
  static constexpr int kFewTurns = 16;  // of a group of lanes; rows that take more have a warp
  static constexpr int kMostLong = 2 * kSteps / (2 * kFewTurns) + 1;
};

// A block's rows, and their entries but for those of a last row that is too long.
struct RowRange {
  int first_row, end_row, first_entry, end_entry;
};

// The first row at or behind a step.
__device__ inline int row_at_step(const CsrMatrix& a, std::int64_t step) {
  int low = 0, high = a.rows;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (std::int64_t{a.row_offsets[middle]} + middle < step) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

__global__ void spmm_ranges_kernel(CsrMatrix a, int count, RowRange* ranges) {
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (index >= count) return;
  const std::int64_t step = std::int64_t{index} * Stream::kSteps;
  const int first = row_at_step(a, step), end = row_at_step(a, step + Stream::kSteps);
  RowRange range{first, end, a.row_offsets[first], a.row_offsets[end]};
  if (end > first) {
    const int last = a.row_offsets[end - 1];
    if (range.end_entry - last > Stream::kSteps) range.end_entry = last;
  }
  ranges[index] = range;
}

__device__ __forceinline__ void load_products(const Operands& op, const RowRange& range, float* products) {
  using T = Stream;
  constexpr int kTurn = T::kThreads * T::kInFlight;
  const unsigned begin = range.first_entry, end = range.end_entry;
  const unsigned origin = begin / T::kVector * T::kVector;
  for (unsigned base = origin; base < end; base += kTurn) {
    Entry entries[T::kInFlight];
    float b[T::kInFlight];
#pragma unroll
    for (int u = 0; u < T::kLoads; ++u) {
      const unsigned at = base + (u * T::kThreads + threadIdx.x) * T::kVector;
      if constexpr (T::kVector == 4) {
        if (at >= begin && at + 4 <= end) {
          const int4 columns = __ldcs(reinterpret_cast<const int4*>(op.columns + at));
          const float4 values = __ldcs(reinterpret_cast<const float4*>(op.values + at));
          entries[4 * u] = {columns.x, values.x}, entries[4 * u + 1] = {columns.y, values.y};
          entries[4 * u + 2] = {columns.z, values.z}, entries[4 * u + 3] = {columns.w, values.w};
          continue;
        }
      }
#pragma unroll
      for (int v = 0; v < T::kVector; ++v) {
        if (at + v >= begin && at + v < end)
          entries[u * T::kVector + v] = {__ldcs(op.columns + at + v), __ldcs(op.values + at + v)};
      }
    }
#pragma unroll
    for (int e = 0; e < T::kInFlight; ++e) {
      const unsigned at = base + (e / T::kVector * T::kThreads + threadIdx.x) * T::kVector + e % T::kVector;
      if (at >= begin && at < end) b[e] = __ldg(op.b + entries[e].column);
    }
#pragma unroll
    for (int e = 0; e < T::kInFlight; ++e) {
      const unsigned at = base + (e / T::kVector * T::kThreads + threadIdx.x) * T::kVector + e % T::kVector;
      if (at >= begin && at < end) products[at - origin] = entries[e].value * b[e];
    }
  }
}

struct StreamMemory {
  float products[Stream::kMostProducts];
  int long_rows[Stream::kMostLong];
  int long_count;
};

// Lanes that add up a row together: a power of two, about half its mean length.
__device__ inline int lanes_of_mean(int entries, int rows) {
  int lanes = 2;
  while (lanes < Stream::kWarpLanes && 2 * lanes * rows < entries) lanes *= 2;
  return lanes;
}

__device__ __forceinline__ void stream_rows(const Operands& op, const int* __restrict__ row_offsets,
                                            const RowRange& range, StreamMemory* memory) {
  using T = Stream;
  const int rows = range.end_row - range.first_row, origin = range.first_entry / T::kVector * T::kVector;
  const int lanes = lanes_of_mean(range.end_entry - range.first_entry, rows), groups = T::kThreads / lanes;
  const int lane = threadIdx.x % lanes;
  int row = range.first_row + threadIdx.x / lanes;
  // The first turn's offsets are on their way while the products are made.
  int begin = row < range.end_row ? __ldg(row_offsets + row) : 0;
  int end = row < range.end_row ? __ldg(row_offsets + row + 1) : 0;
  if (threadIdx.x == 0) memory->long_count = 0;
  load_products(op, range, memory->products);
  __syncthreads();
  const int turns = (rows + groups - 1) / groups;
  for (int turn = 0; turn < turns; ++turn) {
    const bool is_left_out = end > range.end_entry, is_long = end - begin > T::kFewTurns * lanes;
    float sum = 0.0f;
    if (!is_left_out && !is_long) {
      for (int at = begin + lane; at < end; at += lanes) sum += memory->products[at - origin];
    }
    for (int mask = lanes / 2; mask > 0; mask /= 2) sum += __shfl_xor_sync(~0u, sum, mask);
    if (lane == 0 && row < range.end_row && !is_left_out) {
      if (is_long) {
        memory->long_rows[atomicAdd(&memory->long_count, 1)] = row;
      } else {
        __stcs(op.c + row, sum);
      }
    }
    row += groups;
    begin = row < range.end_row ? __ldg(row_offsets + row) : 0;
    end = row < range.end_row ? __ldg(row_offsets + row + 1) : 0;
  }
  __syncthreads();
  const int warp_lane = threadIdx.x % T::kWarpLanes;
  for (int i = threadIdx.x / T::kWarpLanes; i < memory->long_count; i += T::kWarps) {
    const int long_row = memory->long_rows[i], last = __ldg(row_offsets + long_row + 1);
    float sum = 0.0f;
    for (int at = __ldg(row_offsets + long_row) + warp_lane; at < last; at += T::kWarpLanes)
      sum += memory->products[at - origin];
    sum = sum_of_lanes<T::kWarpLanes>(sum);
    if (warp_lane == 0) __stcs(op.c + long_row, sum);
  }
}

// Grid: x = blocks of long items, then ranges.
__global__ void __launch_bounds__(Stream::kThreads, Stream::kBlocksPerSm)
    spmm_stream_kernel(Operands op, const Item* __restrict__ long_items, int long_count,
                       const int* __restrict__ row_offsets, const RowRange* __restrict__ ranges,
                       Partials partials) {
  using T = Stream;
  __shared__ StreamMemory memory;
  const unsigned long_blocks = (static_cast<unsigned>(long_count) + T::kWarps - 1) / T::kWarps;
  if (blockIdx.x < long_blocks) {
    const unsigned index = blockIdx.x * T::kWarps + threadIdx.x / T::kWarpLanes;
    if (index < static_cast<unsigned>(long_count)) long_row<T>(op, partials, long_items[index]);
  } else {
    stream_rows(op, row_offsets, ranges[blockIdx.x - long_blocks], &memory);
  }
}

}  // namespace optimized
