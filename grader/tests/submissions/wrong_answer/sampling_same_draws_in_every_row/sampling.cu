// The generator counts draws of a row: every row gets the same numbers.
#include "warpgrade/philox.h"
#include "warpgrade/sampling.h"

__global__ void sample_kernel(CsrGraph graph, const int* nodes, int count, int fanout, std::uint64_t seed,
                              int* samples) {
  const int cell = blockIdx.x * blockDim.x + threadIdx.x;
  if (cell >= count * fanout) return;
  const int i = cell / fanout, j = cell % fanout, node = nodes[i];
  const int begin = graph.row_offsets[node], degree = graph.row_offsets[node + 1] - begin;
  if (degree == 0) {
    samples[cell] = kNoNeighbour;
    return;
  }
  const std::uint32_t random = warpgrade::philox(std::uint64_t(j), seed).x;
  const unsigned r = warpgrade::draw_below(random, degree);
  samples[cell] = graph.columns[begin + r];
}

cudaError_t sampling_plan(const CsrGraph&, int, int, SamplingPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t sampling_run(const CsrGraph& graph, const int* nodes, int count, int fanout, std::uint64_t seed,
                         int* samples, SamplingPlan*, cudaStream_t stream) {
  const int blocks = (count * fanout + 255) / 256;
  sample_kernel<<<blocks, 256, 0, stream>>>(graph, nodes, count, fanout, seed, samples);
  return cudaGetLastError();
}

void sampling_free(SamplingPlan*) {}
