// Histogram, the plain shared-memory baseline: each block counts all bins in dynamic shared memory, then adds
// them to the global ones.
//
// Shapes  ids [count], counts [bins].
// Cost    4 bytes read and one shared atomic an id; bins * blocks global atomics. Assumes up to as many bins
// as a block may have shared memory for (58,112 with 227 KB); beyond that it counts
//         in global memory.
#include <algorithm>

#include "warpgrade/histogram.h"

struct HistogramPlan {
  int multiprocessors = 0;
  int most_shared_bytes = 0;
};

namespace {

constexpr int kThreads = 512;
constexpr int kBlocksPerSm = 4;

// `local`: [bins] in shared memory, or the global counts themselves.
__global__ void histogram_shared_memory_kernel(const int* __restrict__ ids, unsigned count, unsigned bins,
                                               bool fits, unsigned* __restrict__ counts) {
  extern __shared__ unsigned shared_counts[];
  unsigned* local = fits ? shared_counts : counts;
  if (fits) {
    for (unsigned b = threadIdx.x; b < bins; b += kThreads) local[b] = 0;
    __syncthreads();
  }
  for (unsigned i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads)
    atomicAdd(&local[ids[i] / kNodesPerBin], 1u);
  if (!fits) return;
  __syncthreads();
  for (unsigned b = threadIdx.x; b < bins; b += kThreads) {
    if (local[b] != 0) atomicAdd(&counts[b], local[b]);
  }
}

}  // namespace

cudaError_t histogram_plan(int, int, HistogramPlan** out, cudaStream_t) {
  *out = nullptr;
  HistogramPlan plan;
  int device = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&plan.multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&plan.most_shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error == cudaSuccess)
    error = cudaFuncSetAttribute(histogram_shared_memory_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 plan.most_shared_bytes);
  if (error != cudaSuccess) return error;
  *out = new HistogramPlan(plan);
  return cudaSuccess;
}

cudaError_t histogram_run(const int* ids, int count, int nodes, unsigned* counts, HistogramPlan* plan,
                          cudaStream_t stream) {
  const int bins = histogram_bins(nodes);
  const std::size_t bytes = bins * sizeof(unsigned);
  const cudaError_t error = cudaMemsetAsync(counts, 0, bytes, stream);
  if (error != cudaSuccess || count == 0) return error;
  const bool fits = bytes <= static_cast<std::size_t>(plan->most_shared_bytes);
  const int needed = static_cast<int>((static_cast<unsigned>(count) + kThreads - 1) / kThreads);
  const int blocks = std::min(needed, plan->multiprocessors * kBlocksPerSm);
  histogram_shared_memory_kernel<<<blocks, kThreads, fits ? bytes : 0, stream>>>(ids, count, bins, fits,
                                                                                 counts);
  return cudaGetLastError();
}

void histogram_free(HistogramPlan* plan) {
  delete plan;
}
