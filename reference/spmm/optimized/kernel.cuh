// The one kernel of the optimized SpMM: a strip of C from a list of items.
//
// Shapes  A [m, n] CSR cut into items (work_list.cuh), B [n, k], C [m, k] row-major, fp32; offsets in 64
// bits. Work    2 * nnz * k flop. Cost    a strip: 8 * nnz + 16 * items + 4 * (n + m) * strip bytes, and 4 *
// nnz * strip bytes gathered through L2. Idea    A group of kLanes lanes reads one row of B's strip with
// 16-byte loads; kInFlight such loads are issued before
//         the first is used, from as many warps as fit. Short items: a group each. Long items: a warp each,
//         its groups take turns and meet by shuffles. Entries of A are loaded once, coalesced, a round ahead,
//         and broadcast by shuffles. A and C stream past the caches (evict first) and leave them to B.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "work_list.cuh"

namespace optimized {

#ifndef SPMM_IN_FLIGHT
#define SPMM_IN_FLIGHT 4
#endif
#ifndef SPMM_WARPS_PER_SM
#define SPMM_WARPS_PER_SM 48
#endif

template <int kVector_, int kLanes_>
struct Tile {
  static constexpr int kWarpLanes = 32;
  static constexpr int kVector = kVector_;  // floats a lane
  static constexpr int kLanes = kLanes_;    // lanes a group
  static constexpr int kGroups = kWarpLanes / kLanes;
  static constexpr int kStrip = kVector * kLanes;
  static constexpr int kWarps = 4;
  static constexpr int kThreads = kWarps * kWarpLanes;
  static constexpr int kInFlight =
      SPMM_IN_FLIGHT < kLanes ? SPMM_IN_FLIGHT : kLanes;  // gathers a group keeps open
  static constexpr int kBlocksPerSm = SPMM_WARPS_PER_SM / kWarps;
  static constexpr int kShortPerBlock = kWarps * kGroups;
  static_assert(kVector == 1 || kVector == 4, "loads are 4 or 16 bytes");
  static_assert(kWarpLanes % kLanes == 0 && kLanes % kInFlight == 0,
                "groups fill a warp, batches fill a round");
};

template <int kVector>
struct Vector;
template <>
struct Vector<1> {
  float x = 0.0f;
  __device__ void load(const float* p) { x = __ldg(p); }
  __device__ void load_uncached(const float* p) { x = __ldcg(p); }
  __device__ void store(float* p) const { __stcs(p, x); }
  __device__ void add(const Vector& v) { x += v.x; }
  __device__ void add_scaled(float a, const Vector& v) { x = fmaf(a, v.x, x); }
  __device__ void add_from_lane(int lane_mask) { x += __shfl_xor_sync(~0u, x, lane_mask); }
};
template <>
struct Vector<4> {
  float4 x = {0.0f, 0.0f, 0.0f, 0.0f};
  __device__ void load(const float* p) { x = __ldg(reinterpret_cast<const float4*>(p)); }
  __device__ void load_uncached(const float* p) { x = __ldcg(reinterpret_cast<const float4*>(p)); }
  __device__ void store(float* p) const { __stcs(reinterpret_cast<float4*>(p), x); }
  __device__ void add(const Vector& v) {
    x.x += v.x.x;
    x.y += v.x.y;
    x.z += v.x.z;
    x.w += v.x.w;
  }
  __device__ void add_scaled(float a, const Vector& v) {
    x.x = fmaf(a, v.x.x, x.x);
    x.y = fmaf(a, v.x.y, x.y);
    x.z = fmaf(a, v.x.z, x.z);
    x.w = fmaf(a, v.x.w, x.w);
  }
  __device__ void add_from_lane(int lane_mask) {
    x.x += __shfl_xor_sync(~0u, x.x, lane_mask);
    x.y += __shfl_xor_sync(~0u, x.y, lane_mask);
    x.z += __shfl_xor_sync(~0u, x.z, lane_mask);
    x.w += __shfl_xor_sync(~0u, x.w, lane_mask);
  }
};

struct Operands {
  const int* columns;   // [nnz]
  const float* values;  // [nnz]
  const float* b;       // [n, k]
  float* c;             // [m, k]
  int k;
};

// Where the parts of split rows meet. The last part to arrive adds all of them up, in the order of the row.
struct Partials {
  const Split* splits;     // [splits]
  const int* slot_splits;  // [slots]
  float* sums;             // [slots, k]
  unsigned* arrivals;      // [splits, strips], zero between launches
  int strips;
};

// One lane's entry of A. Past the end: column 0 with value 0, which nobody gathers.
struct Entry {
  int column = 0;
  float value = 0.0f;
};
// Positions are unsigned: one round past 2^31 entries must not wrap.
__device__ inline Entry fetch_entry(const Operands& op, unsigned at, unsigned end) {
  Entry entry;
  if (at < end) entry = {__ldcs(op.columns + at), __ldcs(op.values + at)};
  return entry;
}

// Adds value * B[column, strip] for one round: the kLanes entries that the lanes of a group hold, `mine` of
// which exist for this lane (0 or less outside the matrix). `left` is the warp's largest count: all lanes
// stay in step for the shuffles.
template <typename T>
__device__ void gather_round(const Operands& op, const float* b_lane, const Entry& entry, int mine, int left,
                             Vector<T::kVector>* sum) {
  const unsigned row_floats = op.k;
#pragma unroll
  for (int j = 0; j < T::kLanes; j += T::kInFlight) {
    if (j >= left) break;
    Vector<T::kVector> rows_of_b[T::kInFlight];
#pragma unroll
    for (int u = 0; u < T::kInFlight; ++u) {
      const unsigned b_row = __shfl_sync(~0u, entry.column, j + u, T::kLanes);
      if (j + u < mine) rows_of_b[u].load(b_lane + static_cast<std::uint64_t>(b_row) * row_floats);
    }
#pragma unroll
    for (int u = 0; u < T::kInFlight; ++u) {
      sum->add_scaled(__shfl_sync(~0u, entry.value, j + u, T::kLanes), rows_of_b[u]);
    }
  }
}

template <typename T>
__device__ void add_groups(Vector<T::kVector>* sum) {
#pragma unroll
  for (int mask = T::kLanes; mask < T::kWarpLanes; mask *= 2) sum->add_from_lane(mask);
}

template <typename T, bool kAccumulate>
__device__ void write_row(const Operands& op, std::int64_t row, int column, Vector<T::kVector> sum) {
  float* cell = op.c + row * op.k + column;
  if constexpr (kAccumulate) {
    Vector<T::kVector> before;
    before.load_uncached(cell);
    sum.add(before);
  }
  sum.store(cell);
}

// Publishes a part's sum; true in the warp that published the last one of its row.
template <typename T>
__device__ bool publish_part(const Operands& op, const Partials& partials, const Vector<T::kVector>& sum,
                             int slot, int split, int parts, int column, bool stores, int lane) {
  if (stores) sum.store(partials.sums + static_cast<std::int64_t>(slot) * op.k + column);
  __threadfence();
  __syncwarp();
  unsigned before = 0;
  if (lane == 0) {
    unsigned* arrivals = partials.arrivals + static_cast<std::int64_t>(split) * partials.strips + blockIdx.y;
    before = atomicAdd(arrivals, 1u);
    if (before + 1 == static_cast<unsigned>(parts)) *arrivals = 0;  // ready for the next launch
  }
  const bool last = __shfl_sync(~0u, before, 0) + 1 == static_cast<unsigned>(parts);
  if (last) __threadfence();
  return last;
}

template <typename T, bool kAccumulate>
__device__ void long_item(const Operands& op, const Partials& partials, const Item& item, int column,
                          bool in_strip, const float* b_lane) {
  const int lane = threadIdx.x % T::kWarpLanes, group = lane / T::kLanes;
  Vector<T::kVector> sum;
  unsigned at = static_cast<unsigned>(item.begin) + lane;
  Entry next = fetch_entry(op, at, item.end);
  int left = item.end - item.begin;
  for (int mine = left - group * T::kLanes; left > 0; left -= T::kWarpLanes, mine -= T::kWarpLanes) {
    const Entry entry = next;
    at += T::kWarpLanes;
    next = fetch_entry(op, at, item.end);
    gather_round<T>(op, b_lane, entry, mine, left, &sum);
  }
  add_groups<T>(&sum);
  const bool stores = group == 0 && in_strip;
  if (item.slot >= 0) {
    const int split = partials.slot_splits[item.slot];
    const Split row = partials.splits[split];
    if (!publish_part<T>(op, partials, sum, item.slot, split, row.parts, column, stores, lane)) return;
    sum = {};
    for (int part = group; in_strip && part < row.parts; part += T::kGroups) {
      Vector<T::kVector> partial;
      partial.load_uncached(partials.sums + static_cast<std::int64_t>(row.first_slot + part) * op.k + column);
      sum.add(partial);
    }
    __syncwarp();
    add_groups<T>(&sum);
  }
  if (stores) write_row<T, kAccumulate>(op, item.row, column, sum);
}

constexpr int kNoRow = -1;

template <typename T>
__device__ int longest_in_warp(int length) {
#pragma unroll
  for (int mask = T::kLanes; mask < T::kWarpLanes; mask *= 2) {
    length = max(length, __shfl_xor_sync(~0u, length, mask));
  }
  return length;
}

// A group of lanes an item, `rounds` <= kLanes items one after the other. The warp's items are neighbours in
// the list: lane r of a group holds the one of round r, so that all descriptions arrive with one request; the
// next item's entries are fetched while the present one gathers.
template <typename T, bool kAccumulate>
__device__ void short_items(const Operands& op, const PanelList& list, std::int64_t first, int column,
                            bool in_strip, const float* b_lane) {
  const int lane = threadIdx.x % T::kLanes, group = threadIdx.x % T::kWarpLanes / T::kLanes;
  const std::int64_t index = first + lane * T::kGroups + group;
  Item held{kNoRow, 0, 0, -1};
  if (lane < list.short_rounds && index < list.short_count) held = list.short_items[index];
  const auto fetch_first = [&](int round) {
    const unsigned begin = __shfl_sync(~0u, held.begin, round, T::kLanes);
    const unsigned end = __shfl_sync(~0u, held.end, round, T::kLanes);
    return fetch_entry(op, begin + lane, end);
  };
  Entry next = fetch_first(0);
  for (int round = 0; round < list.short_rounds; ++round) {
    const int row = __shfl_sync(~0u, held.row, round, T::kLanes);
    unsigned at = __shfl_sync(~0u, held.begin, round, T::kLanes);
    int mine = __shfl_sync(~0u, held.end, round, T::kLanes) - at;
    int left = longest_in_warp<T>(mine);
    const bool stores = in_strip && row != kNoRow;
    Vector<T::kVector> sum;
    if (kAccumulate && stores) sum.load_uncached(op.c + static_cast<std::int64_t>(row) * op.k + column);
    do {
      const Entry entry = next;
      if (left > T::kLanes) {
        at += T::kLanes;
        next = fetch_entry(op, at + lane, at + lane + max(mine - T::kLanes - lane, 0));
      } else {
        next = fetch_first(min(round + 1, T::kLanes - 1));  // after the last round: fetched in vain
      }
      gather_round<T>(op, b_lane, entry, mine, left, &sum);
      left -= T::kLanes;
      mine -= T::kLanes;
    } while (left > 0);
    if (stores) sum.store(op.c + static_cast<std::int64_t>(row) * op.k + column);
  }
}

// Grid: x = blocks of long items, then blocks of short ones; y = strips from first_strip, so that all of one
// strip runs before the next begins and L2 holds one strip of B.
template <typename T, bool kAccumulate>
__global__ void __launch_bounds__(T::kThreads, T::kBlocksPerSm)
    spmm_work_list_kernel(Operands op, PanelList list, Partials partials) {
  const int lane = threadIdx.x % T::kWarpLanes, warp = threadIdx.x / T::kWarpLanes;
  const int column = blockIdx.y * T::kStrip + lane % T::kLanes * T::kVector;
  const bool in_strip = column < op.k;
  const float* b_lane = op.b + (in_strip ? column : 0);  // lanes past the edge load what they will not store
  const unsigned long_blocks = (static_cast<unsigned>(list.long_count) + T::kWarps - 1) / T::kWarps;
  if (blockIdx.x < long_blocks) {
    const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * T::kWarps + warp;
    if (index >= list.long_count) return;
    long_item<T, kAccumulate>(op, partials, list.long_items[index], column, in_strip, b_lane);
  } else {
    const std::int64_t first =
        static_cast<std::int64_t>(blockIdx.x - long_blocks) * T::kShortPerBlock * list.short_rounds;
    short_items<T, kAccumulate>(op, list, first + warp * T::kGroups * list.short_rounds, column, in_strip,
                                b_lane);
  }
}

}  // namespace optimized
