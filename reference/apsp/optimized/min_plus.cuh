// A tile of C = min(C, A (min,+) B), where all three are tiles of one matrix: the work of phases 2 and 3.
//
// Shapes  tiles [kTile, kTile] at pitch `pitch`; a block of 256 threads, each with kEach x kEach cells of C
// in
//         registers. A and B pass through shared memory in chunks of kDepth nodes, two chunks in flight.
// Cost    kTile^3 relaxations, VIADDMNMX on sm_90 (64 lanes a clock an SM); for each 2 nodes a thread loads
//         kEach words of 8 bytes and kEach / 2 of 16 from shared memory and relaxes 2 * kEach^2 times.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstddef>

namespace apsp {

template <int kTileSide, int kBlocksAnSm>
struct MinPlusShape {
  static constexpr int kTile = kTileSide;
  static constexpr int kResident = kBlocksAnSm;  // blocks that are to share an SM
  static constexpr int kSide = 16;               // threads a side of the block
  static constexpr int kThreads = kSide * kSide;
  static constexpr int kEach = kTile / kSide;  // cells of C a side that a thread owns
  static constexpr int kGroups = kEach / 4;    // of 4 neighbours, kSide * 4 columns apart
  static constexpr int kDepth = 32;            // nodes a chunk
  static constexpr int kPitchA =
      kDepth + 4;  // rows 4 apart fall into other banks, 16-byte words stay aligned
  static constexpr int kWordsA = kTile * kPitchA, kWordsB = kDepth * kTile;
  static constexpr int kSharedBytes = 2 * (kWordsA + kWordsB) * int(sizeof(int));
  static_assert(kTile % kDepth == 0 && kEach % 4 == 0);
};

using Large = MinPlusShape<128, 2>;
using Small = MinPlusShape<64, 4>;

__device__ __forceinline__ int relax(int length, int first, int second) {
  return min(length, first + second);  // one instruction
}

// Chunk `k` of A ([kTile, kDepth]) and B ([kDepth, kTile]) on their way into shared memory.
template <typename Shape>
__device__ __forceinline__ void stage_chunk(const int* a, const int* b, std::size_t pitch, int k,
                                            int* shared) {
  constexpr int kFoursA = Shape::kDepth / 4, kFoursB = Shape::kTile / 4;
  int* to_a = shared;
  int* to_b = shared + Shape::kWordsA;
#pragma unroll
  for (int word = threadIdx.x; word < Shape::kTile * kFoursA; word += Shape::kThreads) {
    const int i = word / kFoursA, column = 4 * (word % kFoursA);
    __pipeline_memcpy_async(to_a + i * Shape::kPitchA + column, a + i * pitch + k + column, 16);
  }
#pragma unroll
  for (int word = threadIdx.x; word < Shape::kDepth * kFoursB; word += Shape::kThreads) {
    const int i = word / kFoursB, column = 4 * (word % kFoursB);
    __pipeline_memcpy_async(to_b + i * Shape::kTile + column, b + (k + i) * pitch + column, 16);
  }
  __pipeline_commit();
}

// The thread's cells relaxed over the chunk's nodes, two at a time: more would not fit in registers.
template <typename Shape>
__device__ __forceinline__ void relax_chunk(const int* shared, int ty, int tx,
                                            int (&own)[Shape::kEach][Shape::kEach]) {
  const int* from_a = shared + ty * 4 * Shape::kPitchA;
  const int* from_b = shared + Shape::kWordsA + tx * 4;
#pragma unroll 2
  for (int k = 0; k < Shape::kDepth; k += 2) {
    int2 a[Shape::kEach];
#pragma unroll
    for (int i = 0; i < Shape::kEach; ++i) {
      const int row = i / 4 * (4 * Shape::kSide) + i % 4;
      a[i] = *reinterpret_cast<const int2*>(from_a + row * Shape::kPitchA + k);
    }
#pragma unroll
    for (int step = 0; step < 2; ++step) {
#pragma unroll
      for (int group = 0; group < Shape::kGroups; ++group) {
        const int4 b =
            *reinterpret_cast<const int4*>(from_b + (k + step) * Shape::kTile + group * 4 * Shape::kSide);
#pragma unroll
        for (int i = 0; i < Shape::kEach; ++i) {
          const int first = step == 0 ? a[i].x : a[i].y;
          int(&cells)[Shape::kEach] = own[i];
          cells[4 * group] = relax(cells[4 * group], first, b.x);
          cells[4 * group + 1] = relax(cells[4 * group + 1], first, b.y);
          cells[4 * group + 2] = relax(cells[4 * group + 2], first, b.z);
          cells[4 * group + 3] = relax(cells[4 * group + 3], first, b.w);
        }
      }
    }
  }
}

// A or B may be C itself: every chunk of them is read before C is written.
template <typename Shape>
__device__ __forceinline__ void min_plus_tile(const int* a, const int* b, int* c, std::size_t pitch,
                                              int* shared) {
  const int ty = threadIdx.x / Shape::kSide, tx = threadIdx.x % Shape::kSide;
  const auto cells_at = [&](int i, int group) {
    const int row = i / 4 * (4 * Shape::kSide) + 4 * ty + i % 4;
    return reinterpret_cast<int4*>(c + row * pitch + group * 4 * Shape::kSide + 4 * tx);
  };
  constexpr int kBufferWords = Shape::kWordsA + Shape::kWordsB;
  stage_chunk<Shape>(a, b, pitch, 0, shared);
  int own[Shape::kEach][Shape::kEach];
#pragma unroll
  for (int i = 0; i < Shape::kEach; ++i) {
#pragma unroll
    for (int group = 0; group < Shape::kGroups; ++group) {
      const int4 four = *cells_at(i, group);
      own[i][4 * group] = four.x, own[i][4 * group + 1] = four.y;
      own[i][4 * group + 2] = four.z, own[i][4 * group + 3] = four.w;
    }
  }
  for (int k = 0; k < Shape::kTile; k += Shape::kDepth) {
    int* current = shared + (k / Shape::kDepth) % 2 * kBufferWords;
    int* next = shared + (k / Shape::kDepth + 1) % 2 * kBufferWords;
    __pipeline_wait_prior(0);
    __syncthreads();  // the chunk is there for all, and all have left the other buffer
    if (k + Shape::kDepth < Shape::kTile) stage_chunk<Shape>(a, b, pitch, k + Shape::kDepth, next);
    relax_chunk<Shape>(current, ty, tx, own);
  }
#pragma unroll
  for (int i = 0; i < Shape::kEach; ++i) {
#pragma unroll
    for (int group = 0; group < Shape::kGroups; ++group)
      *cells_at(i, group) =
          make_int4(own[i][4 * group], own[i][4 * group + 1], own[i][4 * group + 2], own[i][4 * group + 3]);
  }
}

}  // namespace apsp
