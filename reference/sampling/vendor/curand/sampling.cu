// Sampling with cuRAND's host interface: the library fills a buffer with 32-bit words, a kernel indexes
// with them.
//
// Cost    4 bytes a sample written and read again, on top of what must be.
#include <curand.h>

#include <memory>
#include <new>

#include "warpgrade/philox.h"
#include "warpgrade/sampling.h"

struct SamplingPlan {
  curandGenerator_t generator = nullptr;
  unsigned* words = nullptr;  // [cells rounded up to 4]
  std::size_t count = 0;
  ~SamplingPlan() {
    if (generator != nullptr) curandDestroyGenerator(generator);
    cudaFree(words);
  }
};

namespace {

constexpr int kThreads = 256;

cudaError_t to_cuda(curandStatus_t status) {
  if (status == CURAND_STATUS_SUCCESS) return cudaSuccess;
  return status == CURAND_STATUS_ALLOCATION_FAILED ? cudaErrorMemoryAllocation : cudaErrorUnknown;
}

__global__ void sampling_index_kernel(CsrGraph graph, const int* __restrict__ nodes, unsigned cells,
                                      unsigned fanout, const unsigned* __restrict__ words,
                                      int* __restrict__ samples) {
  const unsigned cell = blockIdx.x * kThreads + threadIdx.x;
  if (cell >= cells) return;
  const int node = nodes[cell / fanout];
  const int begin = graph.row_offsets[node];
  const unsigned degree = graph.row_offsets[node + 1] - begin;
  samples[cell] =
      degree == 0 ? kNoNeighbour : graph.columns[begin + warpgrade::draw_below(words[cell], degree)];
}

}  // namespace

cudaError_t sampling_plan(const CsrGraph&, int count, int fanout, SamplingPlan** out, cudaStream_t stream) {
  *out = nullptr;
  std::unique_ptr<SamplingPlan> plan(new (std::nothrow) SamplingPlan);
  if (plan == nullptr) return cudaErrorMemoryAllocation;
  plan->count = (static_cast<std::size_t>(count) * fanout + 3) / 4 * 4;
  cudaError_t error = cudaMalloc(&plan->words, plan->count * sizeof(unsigned) + 16);
  if (error != cudaSuccess) return error;
  error = to_cuda(curandCreateGenerator(&plan->generator, CURAND_RNG_PSEUDO_PHILOX4_32_10));
  if (error != cudaSuccess) return error;
  error = to_cuda(curandSetStream(plan->generator, stream));
  if (error != cudaSuccess) return error;
  *out = plan.release();
  return cudaSuccess;
}

cudaError_t sampling_run(const CsrGraph& graph, const int* nodes, int count, int fanout, std::uint64_t seed,
                         int* samples, SamplingPlan* plan, cudaStream_t stream) {
  const unsigned cells = static_cast<unsigned>(count) * fanout;
  if (cells == 0) return cudaSuccess;
  // A seed starts the sequence anew, so that a run can be repeated.
  cudaError_t error = to_cuda(curandSetPseudoRandomGeneratorSeed(plan->generator, seed));
  if (error != cudaSuccess) return error;
  error = to_cuda(curandSetGeneratorOffset(plan->generator, 0));
  if (error != cudaSuccess) return error;
  error = to_cuda(curandGenerate(plan->generator, plan->words, plan->count));
  if (error != cudaSuccess) return error;
  const unsigned blocks = (cells + kThreads - 1) / kThreads;
  sampling_index_kernel<<<blocks, kThreads, 0, stream>>>(graph, nodes, cells, fanout, plan->words, samples);
  return cudaGetLastError();
}

void sampling_free(SamplingPlan* plan) {
  delete plan;
}
