// Sampling, naive: a thread a node.
//
// Shapes  nodes [count], samples [count, fanout] row-major.
// Cost    one Philox call and one division a sample. Neighbouring threads write `fanout` cells apart:
// each store
//         of a warp touches 32 sectors of 32 bytes for 4 useful bytes each.
#include "warpgrade/philox.h"
#include "warpgrade/sampling.h"

namespace {

constexpr int kThreads = 256;

__global__ void sampling_thread_a_node_kernel(CsrGraph graph, const int* __restrict__ nodes,  // [count]
                                              int count, int fanout, std::uint64_t seed,
                                              int* __restrict__ samples) {  // [count, fanout]
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  const int begin = graph.row_offsets[nodes[i]];
  const unsigned degree = graph.row_offsets[nodes[i] + 1] - begin;
  for (int j = 0; j < fanout; ++j) {
    const std::int64_t cell = static_cast<std::int64_t>(i) * fanout + j;
    const std::uint32_t random = warpgrade::philox(static_cast<std::uint64_t>(cell), seed).x;
    samples[cell] = degree == 0 ? kNoNeighbour : graph.columns[begin + random % degree];
  }
}

}  // namespace

cudaError_t sampling_plan(const CsrGraph&, int, int, SamplingPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t sampling_run(const CsrGraph& graph, const int* nodes, int count, int fanout, std::uint64_t seed,
                         int* samples, SamplingPlan*, cudaStream_t stream) {
  if (count == 0 || fanout == 0) return cudaSuccess;
  const unsigned blocks = (static_cast<unsigned>(count) + kThreads - 1) / kThreads;
  sampling_thread_a_node_kernel<<<blocks, kThreads, 0, stream>>>(graph, nodes, count, fanout, seed, samples);
  return cudaGetLastError();
}

void sampling_free(SamplingPlan*) {}
