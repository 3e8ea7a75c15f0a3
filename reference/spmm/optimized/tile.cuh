// What the kernels of the optimized SpMM share: groups of lanes, vectors of a row of B or C, entries of A.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "work_list.cuh"

namespace optimized {

template <int kVector_, int kLanes_, bool kAligned_ = true>
struct Tile {
  static constexpr int kWarpLanes = 32;
  static constexpr int kVector = kVector_;     // floats a lane
  static constexpr int kLanes = kLanes_;       // lanes a group
  static constexpr bool kAligned = kAligned_;  // rows of C are whole vectors; of B they always are
  static constexpr int kGroups = kWarpLanes / kLanes;
  static constexpr int kStrip = kVector * kLanes;
  static constexpr int kWarps = 4;
  static constexpr int kThreads = kWarps * kWarpLanes;
  // Gathers of a group under way at once: narrow loads need more of them to cover the same latency.
  static constexpr int kInFlight = kVector == 4 ? 4 : kLanes < 8 ? kLanes : 8;
  static constexpr int kBlocksPerSm = 12;  // 48 warps: at most 40 registers a thread
  static constexpr int kShortPerBlock = kWarps * kGroups;
  static_assert(kVector == 1 || kVector == 2 || kVector == 4, "loads are 4, 8 or 16 bytes");
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
  const float* b;       // [n, row_bytes / 4]: k columns, and zeros where B was padded
  float* c;             // [m, k]
  int k;
  int first_column;    // of this launch's strips
  int first_strip;     // their number, counted over all launches
  int sums_pitch;      // of the partial sums: k, rounded up to whole vectors
  unsigned row_bytes;  // of B; a kernel parameter, so that the address arithmetic costs no register
};

// Where the parts of split rows meet. The last part to arrive adds all of them up, in the order of the row.
struct Partials {
  const Split* splits;     // [splits]
  const int* slot_splits;  // [slots]
  float* sums;             // [slots, sums_pitch]
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

// What one lane knows about its columns. A lane past the edge of C takes part in every shuffle and loads the
// strip's first column, whose line others load as well, but stores nothing.
struct LaneColumns {
  int column;     // of B and C, the first of kVector
  bool stores;    // false past the edge
  const char* b;  // B[0, column]
};

}  // namespace optimized
