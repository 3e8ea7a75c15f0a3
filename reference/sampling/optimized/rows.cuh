// Large fan-outs: a block a row, the row staged in shared memory while the random words are made.
//
// Shapes  nodes [count], samples [count, fanout] row-major.
// Cost    4 * fanout bytes written and 4 * degree read a row; a quarter of a Philox call and one shared
// read a
//         sample.
// Idea    A row's neighbours are behind three loads that depend on each other (node, offsets, neighbours). A
//         thread's words depend on none of them: they are computed while the loads are on their way. Rows
//         move by 16-byte asynchronous copies, samples stream past the caches (evict first). A block a row,
//         scheduled by the hardware, balances rows of any length.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "warpgrade/philox.h"
#include "warpgrade/sampling.h"

#ifndef SAMPLING_THREADS
#define SAMPLING_THREADS 128
#endif
#ifndef SAMPLING_STAGED
#define SAMPLING_STAGED 3072
#endif

namespace optimized {

struct RowTile {
  static constexpr int kThreads = SAMPLING_THREADS;
  static constexpr int kStaged = SAMPLING_STAGED;     // longest row that is staged
  static constexpr int kAhead = 1024 / 4 / kThreads;  // fours of a thread whose words are made ahead
  static constexpr int kBuffer = kStaged + 4;         // up to 3 entries of other rows in front, 3 behind
  static constexpr int kBlocksPerSm = 2048 / kThreads;
  static constexpr int kReservedBytes = 1024;  // of each block's shared memory, by the system
  static_assert(kStaged % 4 == 0, "the buffer holds whole 16-byte vectors");
  static_assert(kAhead >= 1, "a thread makes the words of a whole four");
};

// Starts copying the 16-byte vectors that hold the row. Entry e of the row will be buffer[begin % 4 + e].
__device__ inline void stage_row(const CsrGraph& graph, unsigned begin, unsigned degree, int* buffer) {
  const unsigned first = begin / 4 * 4, end = begin + degree;
  for (unsigned at = first + 4 * threadIdx.x; at < end; at += 4 * RowTile::kThreads) {
    if (at + 4 <= static_cast<unsigned>(graph.edges)) {
      __pipeline_memcpy_async(buffer + (at - first), graph.columns + at, 16);
    } else {  // the last vector of the graph is a partial one
      for (unsigned e = at; e < end; ++e) __pipeline_memcpy_async(buffer + (e - first), graph.columns + e, 4);
    }
  }
  __pipeline_commit();
}

template <bool kAligned>
__device__ void draw_four(const int* neighbours, unsigned degree, const warpgrade::PhiloxWords& random,
                          unsigned four, unsigned fanout, int* samples) {
  int4 drawn = make_int4(kNoNeighbour, kNoNeighbour, kNoNeighbour, kNoNeighbour);
  if (degree != 0) {
    drawn.x = neighbours[warpgrade::draw_below(random.x, degree)];
    drawn.y = neighbours[warpgrade::draw_below(random.y, degree)];
    drawn.z = neighbours[warpgrade::draw_below(random.z, degree)];
    drawn.w = neighbours[warpgrade::draw_below(random.w, degree)];
  }
  int* cells = samples + 4 * four;
  if (kAligned) {
    __stcs(reinterpret_cast<int4*>(cells), drawn);
    return;
  }
  const unsigned left = fanout - 4 * four;
  __stcs(cells, drawn.x);
  if (left > 1) __stcs(cells + 1, drawn.y);
  if (left > 2) __stcs(cells + 2, drawn.z);
  if (left > 3) __stcs(cells + 3, drawn.w);
}

// Grid: a block a row of `samples`. kAligned: rows of `samples` begin at multiples of 16 bytes.
template <bool kAligned>
__global__ __launch_bounds__(RowTile::kThreads, RowTile::kBlocksPerSm) void sampling_staged_rows_kernel(
    CsrGraph graph, const int* __restrict__ nodes, unsigned fanout, std::uint64_t seed,
    int* __restrict__ samples) {  // [count, fanout]
  __shared__ alignas(16) int buffer[RowTile::kBuffer];
  const unsigned i = blockIdx.x;
  const int node = __ldg(nodes + i);
  const unsigned begin = __ldg(graph.row_offsets + node);
  const unsigned degree = __ldg(graph.row_offsets + node + 1) - begin;
  // Reading a row in full pays when it is less than the 32-byte sectors that the draws would touch.
  const bool staged = degree <= RowTile::kStaged && degree <= 8 * fanout;
  if (staged) stage_row(graph, begin, degree, buffer);
  warpgrade::PhiloxWords ahead[RowTile::kAhead];
#pragma unroll
  for (int u = 0; u < RowTile::kAhead; ++u)
    ahead[u] = warpgrade::philox({threadIdx.x + u * RowTile::kThreads, i, 0, 0}, seed);
  __pipeline_wait_prior(0);
  __syncthreads();
  const int* neighbours = staged ? buffer + begin % 4 : graph.columns + begin;
  samples += static_cast<std::size_t>(i) * fanout;
#pragma unroll
  for (int u = 0; u < RowTile::kAhead; ++u) {
    const unsigned four = threadIdx.x + u * RowTile::kThreads;
    if (4 * four < fanout) draw_four<kAligned>(neighbours, degree, ahead[u], four, fanout, samples);
  }
  for (unsigned four = threadIdx.x + RowTile::kAhead * RowTile::kThreads; 4 * four < fanout;
       four += RowTile::kThreads) {
    const warpgrade::PhiloxWords random = warpgrade::philox({four, i, 0, 0}, seed);
    draw_four<kAligned>(neighbours, degree, random, four, fanout, samples);
  }
}

}  // namespace optimized
