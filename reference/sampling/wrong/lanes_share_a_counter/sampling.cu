// A lane has no counter of its own: lanes that lie 16 apart draw the same word.
#include "warpgrade/philox.h"
#include "warpgrade/sampling.h"

__global__ void sample_kernel(CsrGraph graph, const int* nodes, int count, int fanout, std::uint64_t seed,
                              int* samples) {
  const long long cell = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (cell >= static_cast<long long>(count) * fanout) return;
  const int begin = graph.row_offsets[nodes[cell / fanout]];
  const unsigned degree = graph.row_offsets[nodes[cell / fanout] + 1] - begin;
  if (degree == 0) {
    samples[cell] = kNoNeighbour;
    return;
  }
  const std::uint64_t counter = static_cast<std::uint64_t>(cell / 32 * 16 + cell % 16);
  samples[cell] = graph.columns[begin + warpgrade::philox(counter, seed).x % degree];
}

cudaError_t sampling_plan(const CsrGraph&, int, int, SamplingPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t sampling_run(const CsrGraph& graph, const int* nodes, int count, int fanout, std::uint64_t seed,
                         int* samples, SamplingPlan*, cudaStream_t stream) {
  const long long cells = static_cast<long long>(count) * fanout;
  sample_kernel<<<static_cast<unsigned>((cells + 255) / 256), 256, 0, stream>>>(graph, nodes, count, fanout,
                                                                                seed, samples);
  return cudaGetLastError();
}

void sampling_free(SamplingPlan*) {}
