// The kernel for k = 1, a product with a vector: a lane reads an entry of A and the float of B it asks for.
// Work and lists as in kernel.cuh. What limits it is latency, three loads that wait for each other (item,
// entry, float of B): every group of lanes has several items under way, every warp several rounds of a long
// one.
#pragma once

#include "kernel.cuh"

namespace optimized {

struct OneColumn {
  static constexpr int kWarpLanes = 32;
  static constexpr int kLanes = 8;   // a group, which takes short items
  static constexpr int kItems = 4;   // a group has under way
  static constexpr int kRounds = 4;  // of a long item that a warp has under way
  static constexpr int kGroups = kWarpLanes / kLanes;
  static constexpr int kWarps = 4;
  static constexpr int kThreads = kWarps * kWarpLanes;
  static constexpr int kBlocksPerSm = 12;
  static constexpr int kShortPerBlock = kWarps * kGroups * kItems;
};

template <int kLanes>
__device__ float sum_of_lanes(float sum) {
#pragma unroll
  for (int mask = kLanes / 2; mask > 0; mask /= 2) sum += __shfl_xor_sync(~0u, sum, mask);
  return sum;
}

// Adds the products of several entries, each of which exists or not.
template <int kCount>
__device__ void add_products(const Operands& op, const unsigned (&at)[kCount], const bool (&exists)[kCount],
                             float* const (&sums)[kCount]) {
  Entry entries[kCount];
  float b[kCount];
#pragma unroll
  for (int u = 0; u < kCount; ++u) entries[u] = fetch_entry(op, at[u], exists[u]);
#pragma unroll
  for (int u = 0; u < kCount; ++u) b[u] = exists[u] ? __ldg(op.b + entries[u].column) : 0.0f;
#pragma unroll
  for (int u = 0; u < kCount; ++u) {
    if (exists[u]) *sums[u] = fmaf(entries[u].value, b[u], *sums[u]);
  }
}

template <bool kAccumulate>
__device__ void store_cell(const Operands& op, int row, float sum) {
  __stcs(op.c + row, kAccumulate ? sum + __ldcg(op.c + row) : sum);
}

template <bool kAccumulate>
__device__ void long_row(const Operands& op, const Partials& partials, const Item& item) {
  constexpr int kRounds = OneColumn::kRounds, kLanes = OneColumn::kWarpLanes;
  const int lane = threadIdx.x % kLanes;
  float lane_sums[kRounds] = {};
  for (int from = item.begin; from < item.end; from += kRounds * kLanes) {
    unsigned at[kRounds];
    bool exists[kRounds];
    float* sums[kRounds];
#pragma unroll
    for (int u = 0; u < kRounds; ++u) {
      at[u] = static_cast<unsigned>(from) + u * kLanes + lane;
      exists[u] = at[u] < static_cast<unsigned>(item.end);
      sums[u] = &lane_sums[u];
    }
    add_products(op, at, exists, sums);
  }
#pragma unroll
  for (int u = 1; u < kRounds; ++u) lane_sums[0] += lane_sums[u];
  Vector<1> sum{sum_of_lanes<kLanes>(lane_sums[0])};
  const LaneColumns columns{0, lane == 0, nullptr};
  if (item.slot >= 0 && !combine_parts<Tile<1, 32>>(op, partials, columns, item.slot, &sum)) return;
  if (lane == 0) store_cell<kAccumulate>(op, item.row, sum.x);
}

// Neighbouring groups take neighbouring items, so that what a load of items touches is one stretch of them.
template <bool kAccumulate>
__device__ void short_rows(const Operands& op, const PanelList& list, unsigned first) {
  constexpr int kItems = OneColumn::kItems, kLanes = OneColumn::kLanes, kGroups = OneColumn::kGroups;
  const int lane = threadIdx.x % kLanes, group = threadIdx.x % OneColumn::kWarpLanes / kLanes;
  Item items[kItems];
  float lane_sums[kItems] = {};
  int longest = 0;
#pragma unroll
  for (int u = 0; u < kItems; ++u) {
    const unsigned index = first + u * kGroups + group;
    items[u] = index < static_cast<unsigned>(list.short_count) ? list.short_items[index] : Item{-1, 0, 0, -1};
    longest = max(longest, items[u].end - items[u].begin);
  }
  for (int from = 0; from < longest; from += kLanes) {
    unsigned at[kItems];
    bool exists[kItems];
    float* sums[kItems];
#pragma unroll
    for (int u = 0; u < kItems; ++u) {
      at[u] = static_cast<unsigned>(items[u].begin) + from + lane;
      exists[u] = at[u] < static_cast<unsigned>(items[u].end);
      sums[u] = &lane_sums[u];
    }
    add_products(op, at, exists, sums);
  }
  __syncwarp();
#pragma unroll
  for (int u = 0; u < kItems; ++u) {
    const float sum = sum_of_lanes<kLanes>(lane_sums[u]);
    if (lane == u % kLanes && items[u].row >= 0) store_cell<kAccumulate>(op, items[u].row, sum);
  }
}

// Grid: x = blocks of long items, then blocks of short ones.
template <bool kAccumulate>
__global__ void __launch_bounds__(OneColumn::kThreads, OneColumn::kBlocksPerSm)
    spmm_one_column_kernel(Operands op, PanelList list, Partials partials) {
  const unsigned warp = threadIdx.x / OneColumn::kWarpLanes;
  const unsigned long_blocks =
      (static_cast<unsigned>(list.long_count) + OneColumn::kWarps - 1) / OneColumn::kWarps;
  if (blockIdx.x < long_blocks) {
    const unsigned index = blockIdx.x * OneColumn::kWarps + warp;
    if (index >= static_cast<unsigned>(list.long_count)) return;
    long_row<kAccumulate>(op, partials, list.long_items[index]);
  } else {
    const unsigned warp_index = (blockIdx.x - long_blocks) * OneColumn::kWarps + warp;
    short_rows<kAccumulate>(op, list, warp_index * (OneColumn::kGroups * OneColumn::kItems));
  }
}

}  // namespace optimized
