// The kernel of most matrices: a strip of C from a list of items.
//
// Shapes  A [m, n] CSR cut into items (work_list.cuh), B [n, b_pitch], C [m, k] row-major, fp32;
//         64-bit offsets.
// Work    2 * nnz * k flop.
// Cost    a strip: 8 * nnz + 16 * items + 4 * (n + m) * strip bytes, and 4 * nnz * strip bytes gathered.
// Idea    A group of kLanes lanes reads one row of B's strip with 16-byte loads; kInFlight such loads are
//         issued before the first is used, from 48 warps a multiprocessor. Short items: a group each. Long
//         items: a warp each, its groups take turns and meet by shuffles. Entries of A are loaded once,
//         coalesced, a round ahead, and broadcast by shuffles. A and C stream past the caches (evict
//         first) and leave them to B.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "row_of_c.cuh"
#include "tile.cuh"
#include "work_list.cuh"

namespace optimized {

// Adds value * B[column, strip] for one round: the kLanes entries that the lanes of a group hold, `mine` of
// which exist (fewer than 1: none). `left` is the warp's largest count: all lanes stay in step for the
// shuffles. A missing entry loads row 0 of B, which stays in L1, so that the loads need no predicates and
// no extra registers; its product is left out, not multiplied by 0, which would turn an infinity in B into
// a NaN.
template <typename T>
__device__ void gather_round(const Operands& op, const LaneColumns& lane, const Entry& entry, int mine,
                             int left, Vector<T::kVector>* sum) {
#pragma unroll
  for (int j = 0; j < T::kLanes; j += T::kInFlight) {
    if (j >= left) break;
    Vector<T::kVector> rows_of_b[T::kInFlight];
#pragma unroll
    for (int u = 0; u < T::kInFlight; ++u) {
      const unsigned b_row = __shfl_sync(~0u, entry.column, j + u, T::kLanes);
      rows_of_b[u] = Vector<T::kVector>::load(lane.b + static_cast<std::uint64_t>(b_row) * op.row_bytes);
    }
#pragma unroll
    for (int u = 0; u < T::kInFlight; ++u) {
      const float value = __shfl_sync(~0u, entry.value, j + u, T::kLanes);
      if (j + u < mine) sum->add_scaled(value, rows_of_b[u]);
    }
  }
}

template <typename T>
__device__ void add_groups(Vector<T::kVector>* sum) {
#pragma unroll
  for (int mask = T::kLanes; mask < T::kWarpLanes; mask *= 2) sum->add_from_lane(mask);
}

// One more part of a row has arrived; returns how many had before. Releases what the warp stored: unlike
// __threadfence(), which acquires too, a release leaves the multiprocessor's L1, and B in it, alone.
__device__ inline unsigned arrive(unsigned* arrivals) {
  unsigned before;
  asm volatile("atom.add.release.gpu.global.u32 %0, [%1], 1;" : "=r"(before) : "l"(arrivals) : "memory");
  return before;
}

// Tells that this warp has stored its part of a split row. True for the warp that does so last: it may read
// the others' parts.
__device__ inline bool arrives_last(const Partials& partials, int split, int strip, int parts) {
  unsigned before = 0;
  __syncwarp();
  if (threadIdx.x % 32 == 0) {
    unsigned* arrivals = partials.arrivals + static_cast<std::int64_t>(split) * partials.strips + strip;
    before = arrive(arrivals);
    if (before + 1 == static_cast<unsigned>(parts)) *arrivals = 0;  // ready for the next launch
  }
  if (__shfl_sync(~0u, before, 0) + 1 != static_cast<unsigned>(parts)) return false;
  __threadfence();  // acquires the other parts' sums
  return true;
}

// Publishes a part's sum. The warp that publishes a row's last part gets true and the row's sum in *sum.
template <typename T>
__device__ bool combine_parts(const Operands& op, const Partials& partials, const LaneColumns& columns,
                              int slot, Vector<T::kVector>* sum) {
  const int group = threadIdx.x % T::kWarpLanes / T::kLanes;
  const int split = partials.slot_splits[slot];
  const Split row = partials.splits[split];
  const auto part_at = [&](int part) {
    return partials.sums + static_cast<std::int64_t>(part) * op.sums_pitch + columns.column;
  };
  if (group == 0 && columns.stores) sum->store(part_at(slot));
  if (!arrives_last(partials, split, op.first_strip + blockIdx.y, row.parts)) return false;
  *sum = Vector<T::kVector>::zero();
  for (int part = group; columns.stores && part < row.parts; part += T::kGroups) {
    sum->add_scaled(1.0f, Vector<T::kVector>::load_uncached(part_at(row.first_slot + part)));
  }
  __syncwarp();
  add_groups<T>(sum);
  return true;
}

// One warp, one item: the groups take turns of kLanes entries.
template <typename T, bool kAccumulate>
__device__ void long_item(const Operands& op, const Partials& partials, const Item& item,
                          const LaneColumns& columns) {
  const int lane = threadIdx.x % T::kWarpLanes, group = lane / T::kLanes;
  Vector<T::kVector> sum = Vector<T::kVector>::zero();
  int left = item.end - item.begin;
  unsigned at = static_cast<unsigned>(item.begin) + lane;
  Entry next = fetch_entry(op, at, lane < left);
  for (; left > 0; left -= T::kWarpLanes) {
    const Entry entry = next;
    at += T::kWarpLanes;
    next = fetch_entry(op, at, lane + T::kWarpLanes < left);
    gather_round<T>(op, columns, entry, left - group * T::kLanes, left, &sum);
  }
  add_groups<T>(&sum);
  if (item.slot >= 0 && !combine_parts<T>(op, partials, columns, item.slot, &sum)) return;
  if (kAccumulate && group == 0 && columns.stores) add_c<T>(op, item.row, columns, &sum);
  store_c<T>(op, item.row, columns, sum, group == 0);
}

template <typename T>
__device__ int longest_in_warp(int length) {
#pragma unroll
  for (int mask = T::kLanes; mask < T::kWarpLanes; mask *= 2) {
    length = max(length, __shfl_xor_sync(~0u, length, mask));
  }
  return length;
}

// A group of lanes an item: kGroups items a warp, neighbours in the list and so of about the same length.
template <typename T, bool kAccumulate>
__device__ void short_items(const Operands& op, const PanelList& list, unsigned first,
                            const LaneColumns& columns) {
  const int lane = threadIdx.x % T::kLanes;
  const unsigned index = first + threadIdx.x % T::kWarpLanes / T::kLanes;
  const bool exists = index < static_cast<unsigned>(list.short_count);
  const Item item = exists ? list.short_items[index] : Item{0, 0, 0, -1};
  int mine = item.end - item.begin, left = longest_in_warp<T>(mine);
  unsigned at = static_cast<unsigned>(item.begin) + lane;
  Entry next = fetch_entry(op, at, lane < mine);
  Vector<T::kVector> sum = Vector<T::kVector>::zero();
  if (kAccumulate && exists && columns.stores) add_c<T>(op, item.row, columns, &sum);
  for (; left > 0; left -= T::kLanes, mine -= T::kLanes) {
    const Entry entry = next;
    at += T::kLanes;
    next = fetch_entry(op, at, lane + T::kLanes < mine);
    gather_round<T>(op, columns, entry, mine, left, &sum);
  }
  store_c<T>(op, item.row, columns, sum, exists);
}

// Grid: x = blocks of long items, then blocks of short ones; y = strips, so that all of one strip runs before
// the next begins and L2 holds one strip of B.
template <typename T, bool kAccumulate>
__global__ void __launch_bounds__(T::kThreads, T::kBlocksPerSm)
    spmm_work_list_kernel(Operands op, PanelList list, Partials partials) {
  const int warp = threadIdx.x / T::kWarpLanes;
  const int strip_column = op.first_column + blockIdx.y * T::kStrip;
  const int column = strip_column + threadIdx.x % T::kLanes * T::kVector;
  const bool inside = column < op.k;
  const LaneColumns columns{column, inside,
                            reinterpret_cast<const char*>(op.b + (inside ? column : strip_column))};
  const unsigned long_blocks = (static_cast<unsigned>(list.long_count) + T::kWarps - 1) / T::kWarps;
  if (blockIdx.x < long_blocks) {
    const unsigned index = blockIdx.x * T::kWarps + warp;
    if (index >= static_cast<unsigned>(list.long_count)) return;
    long_item<T, kAccumulate>(op, partials, list.long_items[index], columns);
  } else {
    const unsigned warp_index = (blockIdx.x - long_blocks) * T::kWarps + warp;
    short_items<T, kAccumulate>(op, list, warp_index * T::kGroups, columns);
  }
}

}  // namespace optimized
