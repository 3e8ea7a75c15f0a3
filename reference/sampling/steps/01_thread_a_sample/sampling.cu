// Sampling, step 1: a thread a sample.
//
// Shapes  nodes [count], samples [count, fanout] row-major.
// Cost    one Philox call, of which three words in four are thrown away, and two divisions a sample.
// Idea    Neighbouring threads own neighbouring cells: a warp's store is one whole line, and
//         most of its lanes read the same node and the same two offsets.
#include "warpgrade/philox.h"
#include "warpgrade/sampling.h"

namespace {

constexpr int kThreads = 256;

__global__ void sampling_thread_a_sample_kernel(CsrGraph graph, const int* __restrict__ nodes,  // [count]
                                                unsigned cells, unsigned fanout, std::uint64_t seed,
                                                int* __restrict__ samples) {  // [cells] = [count, fanout]
  const unsigned cell = blockIdx.x * kThreads + threadIdx.x;
  if (cell >= cells) return;
  const int node = nodes[cell / fanout];
  const int begin = graph.row_offsets[node];
  const unsigned degree = graph.row_offsets[node + 1] - begin;
  const std::uint32_t random = warpgrade::philox(cell, seed).x;
  samples[cell] = degree == 0 ? kNoNeighbour : graph.columns[begin + random % degree];
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
  const unsigned blocks = (cells + kThreads - 1) / kThreads;
  sampling_thread_a_sample_kernel<<<blocks, kThreads, 0, stream>>>(graph, nodes, cells, fanout, seed,
                                                                   samples);
  return cudaGetLastError();
}

void sampling_free(SamplingPlan*) {}
