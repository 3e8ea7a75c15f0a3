// The kernel for k = 1, a product with a vector: a lane reads an entry of A and the float of B it asks for.
// Long items as in kernel.cuh, read from whole lines of A on: a line in two loads costs L1 two lookups, and
// its lookups are what gathers of single floats wait for. Short rows straight from row_offsets, in their
// order, since nothing but latency counts: neighbouring rows are neighbouring stretches of A. Three loads
// wait for each other (offsets, entry, float of B), so every group of lanes has several rows under way, every
// warp several rounds of a long item.
#pragma once

#include "kernel.cuh"

namespace optimized {

template <int kLanes_, int kRounds_ = 4>
struct OneColumn {
  static constexpr int kWarpLanes = 32;
  static constexpr int kLanes = kLanes_;    // a group, which takes short rows
  static constexpr int kRows = 4;           // a group has under way
  static constexpr int kRounds = kRounds_;  // of a long item that a warp has under way
  static constexpr int kGroups = kWarpLanes / kLanes;
  static constexpr int kWarps = 4;
  static constexpr int kThreads = kWarps * kWarpLanes;
  static constexpr int kBlocksPerSm = 12;
  static constexpr int kRowsPerBlock = kWarps * kGroups * kRows;
};

template <int kLanes>
__device__ float sum_of_lanes(float sum) {
#pragma unroll
  for (int mask = kLanes / 2; mask > 0; mask /= 2) sum += __shfl_xor_sync(~0u, sum, mask);
  return sum;
}

// What nobody reads again: L1 keeps B instead.
template <typename T>
__device__ T load_past_l1(const T* p) {
  static_assert(sizeof(T) == sizeof(unsigned), "32 bits");
  T x;
  asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(reinterpret_cast<unsigned&>(x)) : "l"(p));
  return x;
}

// Adds the products of several entries, each of which exists or not. Whole lines of A pass L1 by; short rows
// are read through it: what the lanes of neighbouring rows leave of a sector, others take.
template <bool kWholeLines, int kCount>
__device__ void add_products(const Operands& op, const unsigned (&at)[kCount], const bool (&exists)[kCount],
                             float (&sums)[kCount]) {
  Entry entries[kCount];
  float b[kCount];
#pragma unroll
  for (int u = 0; u < kCount; ++u) {
    if (!exists[u]) continue;
    entries[u] = kWholeLines ? Entry{load_past_l1(op.columns + at[u]), load_past_l1(op.values + at[u])}
                             : Entry{__ldg(op.columns + at[u]), __ldg(op.values + at[u])};
  }
#pragma unroll
  for (int u = 0; u < kCount; ++u) b[u] = exists[u] ? __ldg(op.b + entries[u].column) : 0.0f;
#pragma unroll
  for (int u = 0; u < kCount; ++u) {
    if (exists[u]) sums[u] = fmaf(entries[u].value, b[u], sums[u]);
  }
}

template <typename T>
__device__ void long_row(const Operands& op, const Partials& partials, const Item& item) {
  constexpr int kRounds = T::kRounds, kLanes = T::kWarpLanes;
  const int lane = threadIdx.x % kLanes;
  const unsigned begin = item.begin, end = item.end;
  float lane_sums[kRounds] = {};
  for (unsigned from = begin / kLanes * kLanes; from < end; from += kRounds * kLanes) {
    unsigned at[kRounds];
    bool exists[kRounds];
#pragma unroll
    for (int u = 0; u < kRounds; ++u) {
      at[u] = from + u * kLanes + lane;
      exists[u] = at[u] >= begin && at[u] < end;
    }
    add_products<true>(op, at, exists, lane_sums);
  }
#pragma unroll
  for (int u = 1; u < kRounds; ++u) lane_sums[0] += lane_sums[u];
  Vector<1> sum{sum_of_lanes<kLanes>(lane_sums[0])};
  const LaneColumns columns{0, true, nullptr};  // of the one column: each lane is a group of its own
  if (item.slot >= 0 && !combine_parts<Tile<1, 1>>(op, partials, columns, item.slot, &sum)) return;
  if (lane == 0) sum.store(op.c + item.row);
}

// Several rows a group, from `first` on; those that the list of long items has are left out.
template <typename T>
__device__ void short_rows(const Operands& op, const int* __restrict__ row_offsets, int rows, int longest_row,
                           std::int64_t first) {
  constexpr int kRows = T::kRows, kLanes = T::kLanes, kGroups = T::kGroups;
  const int lane = threadIdx.x % kLanes, group = threadIdx.x % T::kWarpLanes / kLanes;
  int begin[kRows], length[kRows], longest = 0;
  float lane_sums[kRows] = {};
#pragma unroll
  for (int u = 0; u < kRows; ++u) {
    const std::int64_t row = first + u * kGroups + group;
    begin[u] = row < rows ? __ldg(row_offsets + row) : 0;
    length[u] = row < rows ? __ldg(row_offsets + row + 1) - begin[u] : -1;
    if (length[u] > longest_row) length[u] = -1;
    longest = max(longest, length[u]);
  }
  for (int from = 0; from < longest; from += kLanes) {
    unsigned at[kRows];
    bool exists[kRows];
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      at[u] = static_cast<unsigned>(begin[u]) + from + lane;
      exists[u] = from + lane < length[u];
    }
    add_products<false>(op, at, exists, lane_sums);
  }
  __syncwarp();
#pragma unroll
  for (int u = 0; u < kRows; ++u) {
    const float sum = sum_of_lanes<kLanes>(lane_sums[u]);
    if (lane == u % kLanes && length[u] >= 0) __stcs(op.c + first + u * kGroups + group, sum);
  }
}

// Grid: x = blocks of long items, then blocks of rows.
template <typename T>
__global__ void __launch_bounds__(T::kThreads, T::kBlocksPerSm)
    spmm_one_column_kernel(Operands op, const Item* __restrict__ long_items, int long_count,
                           const int* __restrict__ row_offsets, int rows, int longest_short_row,
                           Partials partials) {
  const unsigned warp = threadIdx.x / T::kWarpLanes;
  const unsigned long_blocks = (static_cast<unsigned>(long_count) + T::kWarps - 1) / T::kWarps;
  if (blockIdx.x < long_blocks) {
    const unsigned index = blockIdx.x * T::kWarps + warp;
    if (index >= static_cast<unsigned>(long_count)) return;
    long_row<T>(op, partials, long_items[index]);
  } else {
    const std::int64_t warp_index = static_cast<std::int64_t>(blockIdx.x - long_blocks) * T::kWarps + warp;
    short_rows<T>(op, row_offsets, rows, longest_short_row, warp_index * (T::kGroups * T::kRows));
  }
}

}  // namespace optimized
