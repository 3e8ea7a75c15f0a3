// Sampling, step 2: a thread four samples.
//
// Shapes  nodes [count], samples [count, fanout] row-major.
// Cost    a quarter of a Philox call, a multiplication and a quarter of a 16-byte store a sample.
// Idea    A Philox call makes four words: use them all. Reduce a word to a range with the high half of
// a product
//         instead of a division. Cells are taken in fours of the flat array, so that the store is aligned
//         whatever the fan-out; a four that crosses into another row looks its offsets up again.
#include "warpgrade/philox.h"
#include "warpgrade/sampling.h"

namespace {

constexpr int kThreads = 256;

// A row of the graph.
struct Row {
  const int* begin;
  unsigned degree;
};
__device__ Row row_of(const CsrGraph& graph, int node) {
  const int begin = graph.row_offsets[node];
  return {graph.columns + begin, static_cast<unsigned>(graph.row_offsets[node + 1] - begin)};
}

__device__ int draw(const Row& row, std::uint32_t random) {
  return row.degree == 0 ? kNoNeighbour : row.begin[warpgrade::draw_below(random, row.degree)];
}

// Grid: a thread four cells, the last one perhaps fewer.
__global__ void sampling_philox_fours_kernel(CsrGraph graph, const int* __restrict__ nodes,  // [count]
                                             unsigned cells, unsigned fanout, std::uint64_t seed,
                                             int* __restrict__ samples) {  // [cells] = [count, fanout]
  const unsigned four = blockIdx.x * kThreads + threadIdx.x;
  const unsigned first = 4 * four;
  if (first >= cells) return;
  const warpgrade::PhiloxWords random = warpgrade::philox(four, seed);
  unsigned i = first / fanout, left = fanout - first % fanout;  // cells of row i from here on
  Row row = row_of(graph, nodes[i]);
  int drawn[4];
  const std::uint32_t words[4] = {random.x, random.y, random.z, random.w};
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    if (first + c < cells) {
      if (left == 0) {
        row = row_of(graph, nodes[++i]);
        left = fanout;
      }
      --left;
      drawn[c] = draw(row, words[c]);
    }
  }
  if (first + 4 <= cells) {
    reinterpret_cast<int4*>(samples)[four] = make_int4(drawn[0], drawn[1], drawn[2], drawn[3]);
    return;
  }
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    if (first + c < cells) samples[first + c] = drawn[c];
  }
}

}  // namespace

cudaError_t sampling_plan(const CsrGraph&, int, int, SamplingPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t sampling_run(const CsrGraph& graph, const int* nodes, int count, int fanout, std::uint64_t seed,
                         int* samples, SamplingPlan*, cudaStream_t stream) {
  const unsigned cells = static_cast<unsigned>(count) * fanout;
  if (cells == 0) return cudaSuccess;
  const unsigned fours = (cells + 3) / 4, blocks = (fours + kThreads - 1) / kThreads;
  sampling_philox_fours_kernel<<<blocks, kThreads, 0, stream>>>(graph, nodes, cells, fanout, seed, samples);
  return cudaGetLastError();
}

void sampling_free(SamplingPlan*) {}
