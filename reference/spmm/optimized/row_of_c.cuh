// How a group's sums reach a row of C, where rows are whole vectors and where they begin anywhere.
#pragma once

#include "tile.cuh"

namespace optimized {

// A row of C from vectors, where k is no multiple of 4: rows begin anywhere. Each lane stores the 16 bytes of
// memory that its columns begin in, with what it takes from the lane before, so that sectors are written
// whole, but for the row's ends: one store where there were four. All lanes of a warp take part.
template <typename T>
__device__ void store_unaligned(const Operands& op, std::int64_t row, int column,
                                const Vector<T::kVector>& sum, bool owns) {
  static_assert(T::kVector == 4, "narrower vectors divide k");
  const int lane = threadIdx.x % T::kLanes;
  const float4 mine = sum.x;
  const float y = __shfl_up_sync(~0u, mine.y, 1, T::kLanes), z = __shfl_up_sync(~0u, mine.z, 1, T::kLanes),
              w = __shfl_up_sync(~0u, mine.w, 1, T::kLanes);
  if (!owns) return;
  float* const cells = op.c + row * op.k;
  const int shift = static_cast<int>(row * op.k) & (T::kVector - 1);
  const float4 shifted = shift == 0   ? mine
                         : shift == 1 ? float4{w, mine.x, mine.y, mine.z}
                         : shift == 2 ? float4{z, w, mine.x, mine.y}
                                      : float4{y, z, w, mine.x};
  const int first = column - shift, missing = lane == 0 ? shift : 0;  // the strip begins in lane 0
  if (missing == 0 && first + T::kVector <= op.k) {
    __stcs(reinterpret_cast<float4*>(cells + first), shifted);
  } else {
    const float* const values = reinterpret_cast<const float*>(&shifted);
#pragma unroll
    for (int i = 0; i < T::kVector; ++i) {
      if (i >= missing && first + i < op.k) __stcs(cells + first + i, values[i]);
    }
  }
  if (lane + 1 < T::kLanes) return;
  const float* const values = reinterpret_cast<const float*>(&mine);
#pragma unroll
  for (int i = 1; i < T::kVector; ++i) {  // and ends in the last one
    if (i >= T::kVector - shift && column + i < op.k) __stcs(cells + column + i, values[i]);
  }
}

// The lane's cells of C, if the group owns the row.
template <typename T>
__device__ void store_c(const Operands& op, std::int64_t row, const LaneColumns& lane,
                        const Vector<T::kVector>& sum, bool owns) {
  if constexpr (T::kAligned) {
    if (owns && lane.stores) sum.store(op.c + row * op.k + lane.column);
  } else {
    store_unaligned<T>(op, row, lane.column, sum, owns);
  }
}

template <typename T>
__device__ void add_c(const Operands& op, std::int64_t row, const LaneColumns& lane,
                      Vector<T::kVector>* sum) {
  const float* from = op.c + row * op.k + lane.column;
  if constexpr (T::kAligned) {
    sum->add_scaled(1.0f, Vector<T::kVector>::load_uncached(from));
  } else {
    float* cells = reinterpret_cast<float*>(sum);
#pragma unroll
    for (int i = 0; i < T::kVector; ++i) {
      if (lane.column + i < op.k) cells[i] += __ldcg(from + i);
    }
  }
}

}  // namespace optimized
