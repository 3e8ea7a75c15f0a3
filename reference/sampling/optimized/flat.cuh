// Small fan-outs: a thread a cell, or four cells of the flat array of samples.
//
// Shapes  nodes [count], samples [cells] = [count, fanout] row-major.
// Cost    4 bytes written and a sector of 32 bytes gathered a sample; a quarter of a Philox call.
// Idea    Too few draws to read rows in full. Fours of the flat array keep stores aligned whatever
// the fan-out; the
//         offsets of up to four rows, then the four gathers, are each in flight together.
#pragma once

#include <cuda_runtime.h>

#include "warpgrade/philox.h"
#include "warpgrade/sampling.h"

namespace optimized {

constexpr int kFlatThreads = 256;

// The smallest runs: latency rules, so every cell has a thread of its own and three words in four go
// to waste.
__global__ __launch_bounds__(kFlatThreads) void sampling_cells_kernel(
    CsrGraph graph, const int* __restrict__ nodes,  // [count]
    unsigned cells, unsigned fanout, std::uint64_t seed, int* __restrict__ samples) {
  const unsigned cell = blockIdx.x * kFlatThreads + threadIdx.x;
  if (cell >= cells) return;
  const int node = __ldg(nodes + cell / fanout);
  const unsigned begin = __ldg(graph.row_offsets + node);
  const unsigned degree = __ldg(graph.row_offsets + node + 1) - begin;
  const std::uint32_t random = warpgrade::philox(cell, seed).x;
  samples[cell] =
      degree == 0 ? kNoNeighbour : __ldg(graph.columns + begin + warpgrade::draw_below(random, degree));
}

__global__ __launch_bounds__(kFlatThreads) void sampling_fours_kernel(
    CsrGraph graph, const int* __restrict__ nodes,  // [count]
    unsigned cells, unsigned fanout, std::uint64_t seed, int* __restrict__ samples) {
  const unsigned four = blockIdx.x * kFlatThreads + threadIdx.x, first = 4 * four;
  if (first >= cells) return;
  const warpgrade::PhiloxWords words = warpgrade::philox(four, seed);
  const std::uint32_t random[4] = {words.x, words.y, words.z, words.w};
  unsigned i = first / fanout, left = fanout - first % fanout;  // cells of row i from here on
  unsigned begin[4], degree[4];
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    if (left == 0 && first + c < cells) {
      ++i;
      left = fanout;
    }
    --left;
    const int node = __ldg(nodes + i);
    begin[c] = __ldg(graph.row_offsets + node);
    degree[c] = __ldg(graph.row_offsets + node + 1) - begin[c];
  }
  int drawn[4];
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    drawn[c] = degree[c] == 0 ? kNoNeighbour
                              : __ldg(graph.columns + begin[c] + warpgrade::draw_below(random[c], degree[c]));
  }
  if (first + 4 <= cells) {
    __stcs(reinterpret_cast<int4*>(samples) + four, make_int4(drawn[0], drawn[1], drawn[2], drawn[3]));
    return;
  }
  for (int c = 0; first + c < cells; ++c) samples[first + c] = drawn[c];
}

}  // namespace optimized
