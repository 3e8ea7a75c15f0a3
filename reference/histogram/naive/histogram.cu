// Histogram, naive: a thread an id, an atomic increment in global memory.
//
// Shapes  ids [count], counts [bins].
// Cost    4 bytes read and one atomic of the L2 cache an id; equal bins wait for each other.
#include "warpgrade/histogram.h"

namespace {

constexpr int kThreads = 256;

__global__ void histogram_global_atomics_kernel(const int* __restrict__ ids, unsigned count,
                                                unsigned* __restrict__ counts) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) atomicAdd(&counts[ids[i] / kNodesPerBin], 1u);
}

}  // namespace

cudaError_t histogram_plan(int, int, HistogramPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t histogram_run(const int* ids, int count, int nodes, unsigned* counts, HistogramPlan*,
                          cudaStream_t stream) {
  const cudaError_t error = cudaMemsetAsync(counts, 0, histogram_bins(nodes) * sizeof(unsigned), stream);
  if (error != cudaSuccess || count == 0) return error;
  const unsigned blocks = (static_cast<unsigned>(count) + kThreads - 1) / kThreads;
  histogram_global_atomics_kernel<<<blocks, kThreads, 0, stream>>>(ids, count, counts);
  return cudaGetLastError();
}

void histogram_free(HistogramPlan*) {}
