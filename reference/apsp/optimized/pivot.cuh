// Phase 1: the tile on the diagonal, solved by one block with its cells in registers.
//
// Cost    kTile steps that follow each other, one barrier each: it is latency that counts here.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace apsp {

// A block's (kTile / 4)^2 threads hold the tile's cells, 4 x 4 each. On return these are shortest paths
// within the tile.
template <int kTile>
__device__ __forceinline__ void solve_pivot(int (&own)[4][4]) {
  constexpr int kSide = kTile / 4;
  __shared__ __align__(16) int rows[2][kTile], columns[2][kTile];  // of the step's node; used in turn
  const int ty = threadIdx.x / kSide, tx = threadIdx.x % kSide;
  for (int owner = 0; owner < kSide; ++owner) {
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      // Row and column of node 4 * owner + step don't change in their own step: the diagonal is 0.
      int* row = rows[step % 2];
      int* column = columns[step % 2];
      if (ty == owner)
        *reinterpret_cast<int4*>(row + 4 * tx) =
            make_int4(own[step][0], own[step][1], own[step][2], own[step][3]);
      if (tx == owner)
        *reinterpret_cast<int4*>(column + 4 * ty) =
            make_int4(own[0][step], own[1][step], own[2][step], own[3][step]);
      __syncthreads();
      const int4 second = *reinterpret_cast<const int4*>(row + 4 * tx);
      const int4 first = *reinterpret_cast<const int4*>(column + 4 * ty);
      const int firsts[4] = {first.x, first.y, first.z, first.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        own[i][0] = min(own[i][0], firsts[i] + second.x);
        own[i][1] = min(own[i][1], firsts[i] + second.y);
        own[i][2] = min(own[i][2], firsts[i] + second.z);
        own[i][3] = min(own[i][3], firsts[i] + second.w);
      }
    }
  }
}

// The same by a block of `Shape`, whose threads hold the cells as after a product.
template <typename Shape>
__device__ __forceinline__ void solve_tile(int (&own)[Shape::kRowsEach][Shape::kColumnsEach]) {
  constexpr int kNodes = Shape::kNodes, kSide = Shape::kSide, kSideRows = Shape::kSideRows;
  __shared__ __align__(16) int rows[2][kNodes], columns[2][kNodes];  // of the step's node; used in turn
  const int ty = threadIdx.x / kSide, tx = threadIdx.x % kSide;
#pragma unroll
  for (int part = 0; part < kNodes / (4 * kSideRows); ++part) {
    for (int owner = 0; owner < kSideRows; ++owner) {
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        int* row = rows[step % 2];
        int* column = columns[step % 2];
        const int group_of_node = part * kSideRows / kSide;
        if (ty == owner) {
          const int* const mine = own[4 * part + step];
#pragma unroll
          for (int group = 0; group < Shape::kGroups; ++group)
            *reinterpret_cast<int4*>(row + 4 * (group * kSide + tx)) =
                make_int4(mine[4 * group], mine[4 * group + 1], mine[4 * group + 2], mine[4 * group + 3]);
        }
        if (tx == (part * kSideRows + owner) % kSide) {
          const int at = 4 * group_of_node + step;
#pragma unroll
          for (int i = 0; i < Shape::kRowsEach; i += 4)
            *reinterpret_cast<int4*>(column + i * kSideRows + 4 * ty) =
                make_int4(own[i][at], own[i + 1][at], own[i + 2][at], own[i + 3][at]);
        }
        __syncthreads();
#pragma unroll
        for (int group = 0; group < Shape::kGroups; ++group) {
          const int4 second = *reinterpret_cast<const int4*>(row + 4 * (group * kSide + tx));
#pragma unroll
          for (int i = 0; i < Shape::kRowsEach; i += 4) {
            const int4 four = *reinterpret_cast<const int4*>(column + i * kSideRows + 4 * ty);
            const int firsts[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
            for (int r = 0; r < 4; ++r) {
              int* const cells = own[i + r] + 4 * group;
              cells[0] = min(cells[0], firsts[r] + second.x);
              cells[1] = min(cells[1], firsts[r] + second.y);
              cells[2] = min(cells[2], firsts[r] + second.z);
              cells[3] = min(cells[3], firsts[r] + second.w);
            }
          }
        }
      }
    }
  }
}

}  // namespace apsp
