// The one kernel of the optimized SpMM: a strip of C from a list of items.
//
// Shapes  A [m, n] CSR cut into items (work_list.cuh), B [n, k], C [m, k] row-major, fp32; 64-bit offsets.
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

#include "work_list.cuh"

namespace optimized {

template <int kVector_, int kLanes_, int kRepeat_ = 1>
struct Tile {
  static constexpr int kWarpLanes = 32;
  static constexpr int kVector = kVector_;  // floats a lane
  static constexpr int kLanes = kLanes_;    // lanes a group
  static constexpr int kRepeat = kRepeat_;  // vectors of one row that a lane holds
  static constexpr int kGroups = kWarpLanes / kLanes;
  static constexpr int kWarps = 4;
  static constexpr int kThreads = kWarps * kWarpLanes;
  // Gathers of a group under way at once: narrow loads need more of them to cover the same latency.
  static constexpr int kInFlight = kVector * kRepeat == 4 ? 4 : 8;
  static constexpr int kBlocksPerSm = kRepeat == 1 ? 12 : 10;  // 48 warps: at most 40 registers a thread
  static constexpr int kShortPerBlock = kWarps * kGroups;
  static_assert(kVector == 1 || kVector == 2 || kVector == 4, "loads are 4, 8 or 16 bytes");
  static_assert(kVector * kRepeat <= 4, "sums and gathers fit in 40 or 48 registers");
  static_assert(kWarpLanes % kLanes == 0 && kLanes % kInFlight == 0,
                "groups fill a warp, batches fill a round");
};

template <int kVector>
struct Vector;
template <>
struct Vector<1> {
  float x;
  __device__ static Vector zero() { return {0.0f}; }
  __device__ static Vector load(const void* p) { return {__ldg(static_cast<const float*>(p))}; }
  __device__ static Vector load_uncached(const float* p) { return {__ldcg(p)}; }
  __device__ void store(float* p) const { __stcs(p, x); }
  __device__ void add_scaled(float a, const Vector& v) { x = fmaf(a, v.x, x); }
  __device__ void add_from_lane(int lane_mask) { x += __shfl_xor_sync(~0u, x, lane_mask); }
};
template <>
struct Vector<2> {
  float2 x;
  __device__ static Vector zero() { return {{0.0f, 0.0f}}; }
  __device__ static Vector load(const void* p) { return {__ldg(static_cast<const float2*>(p))}; }
  __device__ static Vector load_uncached(const float* p) {
    return {__ldcg(reinterpret_cast<const float2*>(p))};
  }
  __device__ void store(float* p) const { __stcs(reinterpret_cast<float2*>(p), x); }
  __device__ void add_scaled(float a, const Vector& v) {
    x.x = fmaf(a, v.x.x, x.x);
    x.y = fmaf(a, v.x.y, x.y);
  }
  __device__ void add_from_lane(int lane_mask) {
    x.x += __shfl_xor_sync(~0u, x.x, lane_mask);
    x.y += __shfl_xor_sync(~0u, x.y, lane_mask);
  }
};
template <>
struct Vector<4> {
  float4 x;
  __device__ static Vector zero() { return {{0.0f, 0.0f, 0.0f, 0.0f}}; }
  __device__ static Vector load(const void* p) { return {__ldg(static_cast<const float4*>(p))}; }
  __device__ static Vector load_uncached(const float* p) {
    return {__ldcg(reinterpret_cast<const float4*>(p))};
  }
  __device__ void store(float* p) const { __stcs(reinterpret_cast<float4*>(p), x); }
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
  int width;           // columns of a strip
  int stretch;         // of them, columns that a group covers with one load a lane
  unsigned row_bytes;  // of B and C; a kernel parameter, so that the address arithmetic costs no register
};

// Where the parts of split rows meet. The last part to arrive adds all of them up, in the order of the row.
struct Partials {
  const Split* splits;     // [splits]
  const int* slot_splits;  // [slots]
  float* sums;             // [slots, k]
  unsigned* arrivals;      // [splits, strips], zero between launches
  int strips;
};

// One lane's entry of A. A missing one is column 0 with value 0.
struct Entry {
  int column = 0;
  float value = 0.0f;
};
__device__ inline Entry fetch_entry(const Operands& op, unsigned at, bool exists) {
  Entry entry;
  if (exists) entry = {__ldcs(op.columns + at), __ldcs(op.values + at)};
  return entry;
}

// What one lane knows about its columns. A strip is kRepeat stretches of columns, a vector of each a lane;
// the last strip and the last stretch reach back over their neighbour where they would end past the edge.
// Every lane computes, a cell of C is stored by the first that owns it. A lane beyond the stretch loads the
// first lane's columns, so that loads need no predicates, and stores nothing.
template <typename T>
struct LaneColumns {
  int column[T::kRepeat];  // of B and C, the first of a vector
  bool stores[T::kRepeat];

  __device__ LaneColumns(const Operands& op, unsigned lane) {
    const int begin = blockIdx.y * op.width, first = max(0, min(begin, op.k - op.width));
    const int mine = lane * T::kVector;
    const bool inside = mine < op.stretch;
#pragma unroll
    for (int r = 0; r < T::kRepeat; ++r) {
      const int stretch_begin = r * op.stretch;
      column[r] = first + min(stretch_begin, op.width - op.stretch) + (inside ? mine : 0);
      stores[r] = inside && column[r] >= max(begin, first + stretch_begin);
    }
  }

  // What is known once the gathers are done: computed anew, from a place that the compiler cannot look
  // behind, so that it occupies no registers until then.
  __device__ static LaneColumns again(const Operands& op) {
    unsigned thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return LaneColumns(op, thread % T::kLanes);
  }
};

// Where a lane gathers: its columns of row 0 of B.
template <typename T>
struct LaneSource {
  const char* b[T::kRepeat];

  __device__ explicit LaneSource(const Operands& op) {
    const LaneColumns<T> lane(op, threadIdx.x % T::kLanes);
#pragma unroll
    for (int r = 0; r < T::kRepeat; ++r) b[r] = reinterpret_cast<const char*>(op.b + lane.column[r]);
  }
};

// One lane's part of a row of a strip.
template <typename T>
struct RowPart {
  Vector<T::kVector> part[T::kRepeat];

  __device__ static RowPart zero() {
    RowPart row;
#pragma unroll
    for (int r = 0; r < T::kRepeat; ++r) row.part[r] = Vector<T::kVector>::zero();
    return row;
  }
  __device__ static RowPart load_b(const LaneSource<T>& lane, std::uint64_t byte_offset) {
    RowPart row;
#pragma unroll
    for (int r = 0; r < T::kRepeat; ++r) row.part[r] = Vector<T::kVector>::load(lane.b[r] + byte_offset);
    return row;
  }
  // The lane's cells of row `at` of a matrix shaped like C: what runs in this grid may have written them.
  __device__ static RowPart load(const Operands& op, float* matrix, std::int64_t at,
                                 const LaneColumns<T>& lane) {
    RowPart row;
#pragma unroll
    for (int r = 0; r < T::kRepeat; ++r) {
      row.part[r] = lane.stores[r] ? Vector<T::kVector>::load_uncached(matrix + at * op.k + lane.column[r])
                                   : Vector<T::kVector>::zero();
    }
    return row;
  }
  __device__ void store(const Operands& op, float* matrix, std::int64_t at,
                        const LaneColumns<T>& lane) const {
#pragma unroll
    for (int r = 0; r < T::kRepeat; ++r) {
      if (lane.stores[r]) part[r].store(matrix + at * op.k + lane.column[r]);
    }
  }
  __device__ void add_scaled(float a, const RowPart& row) {
#pragma unroll
    for (int r = 0; r < T::kRepeat; ++r) part[r].add_scaled(a, row.part[r]);
  }
  // Sums over the groups of a warp, in every group.
  __device__ void add_groups() {
#pragma unroll
    for (int mask = T::kLanes; mask < T::kWarpLanes; mask *= 2) {
#pragma unroll
      for (int r = 0; r < T::kRepeat; ++r) part[r].add_from_lane(mask);
    }
  }
};

// Adds value * B[column, strip] for one round: the kLanes entries that the lanes of a group hold, `mine` of
// which exist (fewer than 1: none). `left` is the warp's largest count: all lanes stay in step for the
// shuffles. A missing entry loads row 0 of B, which stays in L1, so that the loads need no predicates and no
// extra registers; its product is left out, not multiplied by 0, which would turn an infinity in B into a
// NaN.
template <typename T>
__device__ void gather_round(const Operands& op, const LaneSource<T>& lane, const Entry& entry, int mine,
                             int left, RowPart<T>* sum) {
#pragma unroll
  for (int j = 0; j < T::kLanes; j += T::kInFlight) {
    if (j >= left) break;
    RowPart<T> rows_of_b[T::kInFlight];
#pragma unroll
    for (int u = 0; u < T::kInFlight; ++u) {
      const unsigned b_row = __shfl_sync(~0u, entry.column, j + u, T::kLanes);
      rows_of_b[u] = RowPart<T>::load_b(lane, static_cast<std::uint64_t>(b_row) * op.row_bytes);
    }
#pragma unroll
    for (int u = 0; u < T::kInFlight; ++u) {
      const float value = __shfl_sync(~0u, entry.value, j + u, T::kLanes);
      if (j + u < mine) sum->add_scaled(value, rows_of_b[u]);
    }
  }
}

// One more part of a row has arrived; returns how many had before. Releases what the warp stored: unlike
// __threadfence(), which acquires too, a release leaves the multiprocessor's L1, and B in it, alone.
__device__ inline unsigned arrive(unsigned* arrivals) {
  unsigned before;
  asm volatile("atom.add.release.gpu.global.u32 %0, [%1], 1;" : "=r"(before) : "l"(arrivals) : "memory");
  return before;
}

// Publishes a part's sum. The warp that publishes a row's last part gets true and the row's sum in *sum.
template <typename T>
__device__ bool combine_parts(const Operands& op, const Partials& partials, const LaneColumns<T>& columns,
                              int slot, RowPart<T>* sum) {
  const int lane = threadIdx.x % T::kWarpLanes, group = lane / T::kLanes;
  const int split = partials.slot_splits[slot];
  const Split row = partials.splits[split];
  if (group == 0) sum->store(op, partials.sums, slot, columns);
  __syncwarp();
  unsigned before = 0;
  if (lane == 0) {
    unsigned* arrivals = partials.arrivals + static_cast<std::int64_t>(split) * partials.strips + blockIdx.y;
    before = arrive(arrivals);
    if (before + 1 == static_cast<unsigned>(row.parts)) *arrivals = 0;  // ready for the next launch
  }
  if (__shfl_sync(~0u, before, 0) + 1 != static_cast<unsigned>(row.parts)) return false;
  __threadfence();  // acquires the other parts' sums
  *sum = RowPart<T>::zero();
  for (int part = group; part < row.parts; part += T::kGroups) {
    sum->add_scaled(1.0f, RowPart<T>::load(op, partials.sums, row.first_slot + part, columns));
  }
  __syncwarp();
  sum->add_groups();
  return true;
}

// One warp, one item: the groups take turns of kLanes entries.
template <typename T, bool kAccumulate>
__device__ void long_item(const Operands& op, const Partials& partials, const Item& item,
                          const LaneSource<T>& source) {
  const int lane = threadIdx.x % T::kWarpLanes, group = lane / T::kLanes;
  RowPart<T> sum = RowPart<T>::zero();
  int left = item.end - item.begin;
  unsigned at = static_cast<unsigned>(item.begin) + lane;
  Entry next = fetch_entry(op, at, lane < left);
  for (; left > 0; left -= T::kWarpLanes) {
    const Entry entry = next;
    at += T::kWarpLanes;
    next = fetch_entry(op, at, lane + T::kWarpLanes < left);
    gather_round<T>(op, source, entry, left - group * T::kLanes, left, &sum);
  }
  sum.add_groups();
  const auto columns = LaneColumns<T>::again(op);
  if (item.slot >= 0 && !combine_parts<T>(op, partials, columns, item.slot, &sum)) return;
  if (group != 0) return;
  if (kAccumulate) sum.add_scaled(1.0f, RowPart<T>::load(op, op.c, item.row, columns));
  sum.store(op, op.c, item.row, columns);
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
                            const LaneSource<T>& source) {
  const int lane = threadIdx.x % T::kLanes;
  const unsigned index = first + threadIdx.x % T::kWarpLanes / T::kLanes;
  const bool exists = index < static_cast<unsigned>(list.short_count);
  const Item item = exists ? list.short_items[index] : Item{0, 0, 0, -1};
  int mine = item.end - item.begin, left = longest_in_warp<T>(mine);
  unsigned at = static_cast<unsigned>(item.begin) + lane;
  Entry next = fetch_entry(op, at, lane < mine);
  RowPart<T> sum = RowPart<T>::zero();
  if (kAccumulate && exists) sum = RowPart<T>::load(op, op.c, item.row, LaneColumns<T>::again(op));
  for (; left > 0; left -= T::kLanes, mine -= T::kLanes) {
    const Entry entry = next;
    at += T::kLanes;
    next = fetch_entry(op, at, lane + T::kLanes < mine);
    gather_round<T>(op, source, entry, mine, left, &sum);
  }
  if (exists) sum.store(op, op.c, item.row, LaneColumns<T>::again(op));
}

// Grid: x = blocks of long items, then blocks of short ones; y = strips, so that all of one strip runs before
// the next begins and L2 holds one strip of B.
template <typename T, bool kAccumulate>
__global__ void __launch_bounds__(T::kThreads, T::kBlocksPerSm)
    spmm_work_list_kernel(Operands op, PanelList list, Partials partials) {
  const int warp = threadIdx.x / T::kWarpLanes;
  const LaneSource<T> source(op);
  const unsigned long_blocks = (static_cast<unsigned>(list.long_count) + T::kWarps - 1) / T::kWarps;
  if (blockIdx.x < long_blocks) {
    const unsigned index = blockIdx.x * T::kWarps + warp;
    if (index >= static_cast<unsigned>(list.long_count)) return;
    long_item<T, kAccumulate>(op, partials, list.long_items[index], source);
  } else {
    const unsigned warp_index = (blockIdx.x - long_blocks) * T::kWarps + warp;
    short_items<T, kAccumulate>(op, list, warp_index * T::kGroups, source);
  }
}

}  // namespace optimized
