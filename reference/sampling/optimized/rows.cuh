// Large fan-outs: a block walks over rows, draws from one while the next is on its way into shared memory.
//
// Shapes  nodes [count], samples [count, fanout] row-major.
// Cost    4 * fanout bytes written and 4 * degree read a row; a quarter of a Philox call and one shared read
// a
//         sample.
// Idea    A row's neighbours are behind three loads that depend on each other (node, offsets, neighbours),
// about
//         2 us of latency: the node is fetched three rows ahead, the offsets two, the neighbours one, by
//         cp.async into the other half of the buffer. Samples stream past the caches (evict first).
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "warpgrade/philox.h"
#include "warpgrade/sampling.h"

namespace optimized {

template <int kThreads_, int kStaged_, int kBlocksPerSm_>
struct RowTile {
  static constexpr int kThreads = kThreads_;
  static constexpr int kStaged = kStaged_;  // longest row that is staged
  static constexpr int kBlocksPerSm = kBlocksPerSm_;
  static constexpr int kBuffer =
      kStaged + 4;  // whole vectors: up to 3 entries of other rows in front, 3 behind
  static constexpr int kReservedBytes = 1024;  // of each block's shared memory, by the system
  static_assert(kStaged % 4 == 0, "the buffer holds whole 16-byte vectors");
  static_assert(kThreads * kBlocksPerSm <= 2048, "an SM's thread slots");
  static_assert((2 * kBuffer * 4 + kReservedBytes) * kBlocksPerSm <= 228 * 1024, "an SM's shared memory");
};

struct Row {
  unsigned begin = 0, degree = 0;
};

__device__ inline Row load_row(const CsrGraph& graph, int node) {
  const unsigned begin = __ldg(graph.row_offsets + node);
  return {begin, __ldg(graph.row_offsets + node + 1) - begin};
}

// Reading a row in full pays when it is less than the 32-byte sectors that the draws would touch.
template <typename T>
__device__ bool is_staged(const Row& row, unsigned fanout) {
  return row.degree <= T::kStaged && row.degree <= 8 * fanout;
}

// Starts copying the 16-byte vectors that hold the row. Entry e of the row will be buffer[row.begin % 4 + e].
template <typename T>
__device__ void stage_row(const CsrGraph& graph, const Row& row, unsigned fanout, int* buffer) {
  if (!is_staged<T>(row, fanout)) return;
  const unsigned first = row.begin / 4 * 4, end = row.begin + row.degree;
  for (unsigned at = first + 4 * threadIdx.x; at < end; at += 4 * T::kThreads) {
    if (at + 4 <= static_cast<unsigned>(graph.edges)) {
      __pipeline_memcpy_async(buffer + (at - first), graph.columns + at, 16);
    } else {  // the last vector of the graph is a partial one
      for (unsigned e = at; e < end; ++e) __pipeline_memcpy_async(buffer + (e - first), graph.columns + e, 4);
    }
  }
}

// Draws row i of `samples` from `neighbours` in shared or global memory.
template <typename T, bool kAligned>
__device__ void draw_row(const int* neighbours, unsigned degree, unsigned i, unsigned fanout,
                         std::uint64_t seed, int* samples) {
  for (unsigned four = threadIdx.x; 4 * four < fanout; four += T::kThreads) {
    const warpgrade::PhiloxWords random = warpgrade::philox({four, i, 0, 0}, seed);
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
      continue;
    }
    const unsigned left = fanout - 4 * four;
    __stcs(cells, drawn.x);
    if (left > 1) __stcs(cells + 1, drawn.y);
    if (left > 2) __stcs(cells + 2, drawn.z);
    if (left > 3) __stcs(cells + 3, drawn.w);
  }
}

// Grid: as many blocks as fit on the device; block b takes rows b, b + gridDim.x, ...
// kAligned: rows of `samples` begin at multiples of 16 bytes.
template <typename T, bool kAligned>
__global__ __launch_bounds__(T::kThreads, T::kBlocksPerSm) void sampling_pipelined_rows_kernel(
    CsrGraph graph, const int* __restrict__ nodes, unsigned count, unsigned fanout, std::uint64_t seed,
    int* __restrict__ samples) {  // [count, fanout]
  __shared__ alignas(16) int buffers[2][T::kBuffer];
  const unsigned step = gridDim.x;
  unsigned i = blockIdx.x;
  if (i >= count) return;
  const auto node_at = [&](unsigned at) { return at < count ? __ldg(nodes + at) : -1; };
  const auto row_at = [&](int node) { return node < 0 ? Row{} : load_row(graph, node); };
  Row row = row_at(node_at(i)), next = row_at(node_at(i + step));
  int node_after_next = node_at(i + 2 * step);
  stage_row<T>(graph, row, fanout, buffers[0]);
  __pipeline_commit();
  for (int half = 0; i < count; i += step, half ^= 1) {
    stage_row<T>(graph, next, fanout, buffers[half ^ 1]);
    __pipeline_commit();
    const Row after_next = row_at(node_after_next);
    node_after_next = node_at(i + 3 * step);
    __pipeline_wait_prior(1);  // this row has arrived, the next one need not have
    __syncthreads();
    const int* neighbours =
        is_staged<T>(row, fanout) ? buffers[half] + row.begin % 4 : graph.columns + row.begin;
    draw_row<T, kAligned>(neighbours, row.degree, i, fanout, seed,
                          samples + static_cast<std::size_t>(i) * fanout);
    __syncthreads();  // the half is drawn from: free for the row after the next
    row = next;
    next = after_next;
  }
}

}  // namespace optimized
