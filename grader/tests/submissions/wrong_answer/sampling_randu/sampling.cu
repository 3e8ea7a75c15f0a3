// RANDU, one sequence over all cells, by powers of its multiplier: three words in a row lie in fifteen planes.
// Gain: a multiplication in place of a generator.
#include "warpgrade/sampling.h"

__device__ unsigned long long mix(unsigned long long z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

__device__ unsigned word_of(unsigned long long cell, unsigned long long seed) {
  unsigned power = 65539, word = (unsigned)mix(seed) | 1;
  for (unsigned long long n = cell + 1; n != 0; n /= 2, power *= power) word *= n % 2 ? power : 1;
  return word << 1;
}

__global__ void sample_kernel(CsrGraph graph, const int* nodes, int count, int fanout, unsigned long long seed, int* samples) {
  const long long cell = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (cell >= (long long)count * fanout) return;
  const int begin = graph.row_offsets[nodes[cell / fanout]];
  const unsigned degree = graph.row_offsets[nodes[cell / fanout] + 1] - begin;
  samples[cell] = degree == 0 ? kNoNeighbour : graph.columns[begin + __umulhi(word_of(cell, seed), degree)];
}

cudaError_t sampling_plan(const CsrGraph&, int, int, SamplingPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t sampling_run(const CsrGraph& graph, const int* nodes, int count, int fanout, std::uint64_t seed, int* samples,
                         SamplingPlan*, cudaStream_t stream) {
  const long long cells = (long long)count * fanout;
  sample_kernel<<<(unsigned)((cells + 255) / 256), 256, 0, stream>>>(graph, nodes, count, fanout, seed, samples);
  return cudaGetLastError();
}

void sampling_free(SamplingPlan*) {}
