// Folds the halves of the seed into one: seeds whose halves change alike give the same samples.
#include "warpgrade/philox.h"
#include "warpgrade/sampling.h"

namespace {

constexpr int kThreads = 256;

__global__ void sample_kernel(CsrGraph graph, const int* __restrict__ nodes,  // [count]
                                              int count, int fanout, std::uint64_t seed,
                                              int* __restrict__ samples) {  // [count, fanout]
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  const int begin = graph.row_offsets[nodes[i]];
  const unsigned degree = graph.row_offsets[nodes[i] + 1] - begin;
  for (int j = 0; j < fanout; ++j) {
    const std::int64_t cell = static_cast<std::int64_t>(i) * fanout + j;
    const std::uint32_t random = warpgrade::philox(static_cast<std::uint64_t>(cell), (seed ^ (seed >> 32)) & 0xffffffffu).x;
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
  sample_kernel<<<blocks, kThreads, 0, stream>>>(graph, nodes, count, fanout, seed, samples);
  return cudaGetLastError();
}

void sampling_free(SamplingPlan*) {}
