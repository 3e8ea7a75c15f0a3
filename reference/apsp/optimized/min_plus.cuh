// A tile of C = min(C, A (min,+) B): the work of phases 2 and 3.
//
// Shapes  A [kNodes, kNodes], B [kNodes, kColumns], C [kNodes, kColumns], each at its own pitch; a block of
//         256 threads, each with kRowsEach x kColumnsEach words of C in registers. A and B pass through
//         shared memory in chunks of kDepth nodes, two chunks in flight.
// Words   one int32 length (Plain), or two of 16 bits that neighbour in a row (Packed); a word of A then
//         holds one length twice.
// Cost    kNodes^2 * kColumns relaxations of words, one instruction each on sm_90 (64 lanes a clock an
//         SM); for each 2 nodes a thread loads kRowsEach words of 8 bytes and kColumnsEach / 2 of 16
//         from shared memory.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstddef>

namespace apsp {

struct Plain {
  __device__ static __forceinline__ int relax(int length, int first, int second) {
    return min(length, first + second);  // one instruction
  }
};

struct Packed {
  __device__ static __forceinline__ int relax(int length, int first, int second) {
    return static_cast<int>(__viaddmin_u16x2(static_cast<unsigned>(first), static_cast<unsigned>(second),
                                             static_cast<unsigned>(length)));
  }
};

template <typename Word, int kNodesOfTile, int kColumnsOfTile, int kBlocksAnSm, int kSlackOfRound = 0>
struct MinPlusShape {
  using Relax = Word;
  static constexpr int kNodes = kNodesOfTile;      // rows of all three tiles, columns of A
  static constexpr int kColumns = kColumnsOfTile;  // of B and C, in words
  static constexpr int kResident = kBlocksAnSm;    // blocks that are to share an SM
  static constexpr int kSlack = kSlackOfRound;  // ahead.cuh: products before the next cross, for each block
  static constexpr int kSide = 16;              // threads a row of the block
  static constexpr int kSideRows = 16;          // rows of threads
  static constexpr int kThreads = kSideRows * kSide;
  static constexpr int kRowsEach = kNodes / kSideRows;  // words of C a side that a thread owns
  static constexpr int kColumnsEach = kColumns / kSide;
  static constexpr int kGroups = kColumnsEach / 4;  // of 4 neighbours, kSide * 4 columns apart
  static constexpr int kDepth = 32;                 // nodes a chunk
  static constexpr int kPitchA =
      kDepth + 4;  // rows 4 apart fall into other banks, 16-byte words stay aligned
  static constexpr int kWordsA = kNodes * kPitchA, kWordsB = kDepth * kColumns;
  static constexpr int kSharedBytes = 2 * (kWordsA + kWordsB) * int(sizeof(int));
  static_assert(kNodes % kDepth == 0 && kRowsEach % 4 == 0 && kColumnsEach % 4 == 0);
};

constexpr int kUnroll = 4;  // pairs of nodes
// Chosen on an H200: few blocks an SM leave the pivot's block, for which all wait, more of its SM.
using Large = MinPlusShape<Plain, 128, 128, 2, 8>;
using Small = MinPlusShape<Plain, 64, 64, 3, 1>;
using Alone = MinPlusShape<Plain, 64, 64, 1, 4>;  // where an SM gets few tiles

// A tile in global memory: its first word and the distance of its rows.
struct TileAt {
  int* words;
  std::size_t pitch;
};

// 16 bytes a thread and pass on their way into shared memory: rows of kRowWords words. The number of passes
// is a constant and the addresses of one follow from the one before: addresses are computed on the pipe that
// does the products.
template <typename Shape, int kRows, int kRowWords, int kPitch>
__device__ __forceinline__ void stage_rows(const int* from, std::size_t pitch, int* to) {
  constexpr int kFours = kRowWords / 4, kRowsAPass = Shape::kThreads / kFours;
  static_assert(Shape::kThreads % kFours == 0 && kRows % kRowsAPass == 0);
  const int row = threadIdx.x / kFours, column = 4 * (threadIdx.x % kFours);
  from += row * pitch + column;
  to += row * kPitch + column;
#pragma unroll
  for (int pass = 0; pass < kRows / kRowsAPass; ++pass) {
    __pipeline_memcpy_async(to + pass * kRowsAPass * kPitch, from, 16);
    from += kRowsAPass * pitch;
  }
}

// Chunk `k` of A ([kNodes, kDepth]) and B ([kDepth, kColumns]) on their way into shared memory.
template <typename Shape>
__device__ __forceinline__ void stage_chunk(TileAt a, TileAt b, int k, int* shared) {
  stage_rows<Shape, Shape::kNodes, Shape::kDepth, Shape::kPitchA>(a.words + k, a.pitch, shared);
  stage_rows<Shape, Shape::kDepth, Shape::kColumns, Shape::kColumns>(b.words + k * b.pitch, b.pitch,
                                                                     shared + Shape::kWordsA);
  __pipeline_commit();
}

// The thread's cells relaxed over the chunk's nodes, two at a time: more would not fit in registers.
template <typename Shape>
__device__ __forceinline__ void relax_chunk(const int* shared, int ty, int tx,
                                            int (&own)[Shape::kRowsEach][Shape::kColumnsEach]) {
  const int* from_a = shared + ty * 4 * Shape::kPitchA;
  const int* from_b = shared + Shape::kWordsA + tx * 4;
#pragma unroll kUnroll
  for (int k = 0; k < Shape::kDepth; k += 2) {
    int2 a[Shape::kRowsEach];
#pragma unroll
    for (int i = 0; i < Shape::kRowsEach; ++i) {
      const int row = i / 4 * (4 * Shape::kSideRows) + i % 4;
      a[i] = *reinterpret_cast<const int2*>(from_a + row * Shape::kPitchA + k);
    }
#pragma unroll
    for (int step = 0; step < 2; ++step) {
#pragma unroll
      for (int group = 0; group < Shape::kGroups; ++group) {
        const int4 b =
            *reinterpret_cast<const int4*>(from_b + (k + step) * Shape::kColumns + group * 4 * Shape::kSide);
#pragma unroll
        for (int i = 0; i < Shape::kRowsEach; ++i) {
          const int first = step == 0 ? a[i].x : a[i].y;
          int(&cells)[Shape::kColumnsEach] = own[i];
          cells[4 * group] = Shape::Relax::relax(cells[4 * group], first, b.x);
          cells[4 * group + 1] = Shape::Relax::relax(cells[4 * group + 1], first, b.y);
          cells[4 * group + 2] = Shape::Relax::relax(cells[4 * group + 2], first, b.z);
          cells[4 * group + 3] = Shape::Relax::relax(cells[4 * group + 3], first, b.w);
        }
      }
    }
  }
}

// The thread's words of C: row i, group of 4 columns.
template <typename Shape>
__device__ __forceinline__ int4* four_at(TileAt c, int i, int group) {
  const int ty = threadIdx.x / Shape::kSide, tx = threadIdx.x % Shape::kSide;
  const int row = i / 4 * (4 * Shape::kSideRows) + 4 * ty + i % 4;
  return reinterpret_cast<int4*>(c.words + row * c.pitch + (group * 4 * Shape::kSide + 4 * tx));
}

template <typename Shape>
__device__ __forceinline__ void load_tile(TileAt c, int (&own)[Shape::kRowsEach][Shape::kColumnsEach]) {
#pragma unroll
  for (int i = 0; i < Shape::kRowsEach; ++i) {
#pragma unroll
    for (int group = 0; group < Shape::kGroups; ++group) {
      const int4 four = *four_at<Shape>(c, i, group);
      own[i][4 * group] = four.x, own[i][4 * group + 1] = four.y;
      own[i][4 * group + 2] = four.z, own[i][4 * group + 3] = four.w;
    }
  }
}

// A or B may be C itself: every chunk of them is read before anything of `own` is stored. Chunks from `nodes`
// on are left out: they are padding.
template <typename Shape>
__device__ __forceinline__ void relax_tile(TileAt a, TileAt b, TileAt c, int* shared,
                                           int (&own)[Shape::kRowsEach][Shape::kColumnsEach],
                                           int nodes = Shape::kNodes) {
  const int ty = threadIdx.x / Shape::kSide, tx = threadIdx.x % Shape::kSide;
  constexpr int kBufferWords = Shape::kWordsA + Shape::kWordsB;
  stage_chunk<Shape>(a, b, 0, shared);
  load_tile<Shape>(c, own);
  const int end = min(nodes, Shape::kNodes);
  for (int k = 0; k < end; k += Shape::kDepth) {
    int* current = shared + (k / Shape::kDepth) % 2 * kBufferWords;
    int* next = shared + (k / Shape::kDepth + 1) % 2 * kBufferWords;
    __pipeline_wait_prior(0);
    __syncthreads();  // the chunk is there for all, and all have left the other buffer
    if (k + Shape::kDepth < end) stage_chunk<Shape>(a, b, k + Shape::kDepth, next);
    relax_chunk<Shape>(current, ty, tx, own);
  }
}

template <typename Shape>
__device__ __forceinline__ void store_tile(TileAt c,
                                           const int (&own)[Shape::kRowsEach][Shape::kColumnsEach]) {
#pragma unroll
  for (int i = 0; i < Shape::kRowsEach; ++i) {
#pragma unroll
    for (int group = 0; group < Shape::kGroups; ++group)
      *four_at<Shape>(c, i, group) =
          make_int4(own[i][4 * group], own[i][4 * group + 1], own[i][4 * group + 2], own[i][4 * group + 3]);
  }
}

template <typename Shape>
__device__ __forceinline__ void min_plus_tile(TileAt a, TileAt b, TileAt c, int* shared) {
  int own[Shape::kRowsEach][Shape::kColumnsEach];
  relax_tile<Shape>(a, b, c, shared, own);
  store_tile<Shape>(c, own);
}

}  // namespace apsp
