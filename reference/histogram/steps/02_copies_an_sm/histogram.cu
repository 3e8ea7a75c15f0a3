// Histogram, step 2: more than 48 KB of dynamic shared memory, several copies of the histogram a block.
//
// Shapes  ids [count], counts [bins].
// Cost    4 bytes read and one shared atomic an id; bins * blocks global atomics.
// Idea    Lanes of a warp that hit one bin wait for each other. With kCopies copies, side by side so
// that they lie
//         in different banks, only lanes of the same copy do; and all bins fit in one pass up to 56 K
//         of them.
#include <algorithm>

#include "warpgrade/histogram.h"

namespace {

#ifndef HISTOGRAM_COPIES
#define HISTOGRAM_COPIES 4
#endif
constexpr int kMostCopies = HISTOGRAM_COPIES;
constexpr int kThreads = 1024;
static_assert(kMostCopies >= 1 && kMostCopies <= 32, "a lane has one copy");

// Grid: x = blocks that share the ids, y = passes over ranges of `bins_a_pass` bins.
__global__ __launch_bounds__(kThreads) void histogram_copies_kernel(const int* __restrict__ ids,
                                                                    unsigned count, unsigned bins,
                                                                    unsigned bins_a_pass, unsigned copies,
                                                                    unsigned* __restrict__ counts) {
  extern __shared__ unsigned block_counts[];  // [bins_a_pass, copies]
  const unsigned first = blockIdx.y * bins_a_pass;
  const unsigned own = min(bins - first, bins_a_pass);
  for (unsigned w = threadIdx.x; w < own * copies; w += kThreads) block_counts[w] = 0;
  __syncthreads();
  const unsigned copy = threadIdx.x % copies;
  for (unsigned i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads) {
    const unsigned bin = ids[i] / kNodesPerBin - first;
    if (bin < own) atomicAdd(&block_counts[bin * copies + copy], 1u);
  }
  __syncthreads();
  for (unsigned b = threadIdx.x; b < own; b += kThreads) {
    unsigned sum = 0;
    for (unsigned c = 0; c < copies; ++c) sum += block_counts[b * copies + c];
    if (sum != 0) atomicAdd(&counts[first + b], sum);
  }
}

}  // namespace

struct HistogramPlan {
  int multiprocessors = 0;
  int words_a_block = 0;  // all the shared memory that a block may have
};

cudaError_t histogram_plan(int, int, HistogramPlan** out, cudaStream_t) {
  *out = nullptr;
  HistogramPlan plan;
  int device = 0, shared_bytes = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&plan.multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error == cudaSuccess)
    error = cudaFuncSetAttribute(histogram_copies_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 shared_bytes);
  if (error != cudaSuccess) return error;
  plan.words_a_block = shared_bytes / static_cast<int>(sizeof(unsigned));
  *out = new HistogramPlan(plan);
  return cudaSuccess;
}

cudaError_t histogram_run(const int* ids, int count, int nodes, unsigned* counts, HistogramPlan* plan,
                          cudaStream_t stream) {
  const int bins = histogram_bins(nodes);
  const cudaError_t error = cudaMemsetAsync(counts, 0, bins * sizeof(unsigned), stream);
  if (error != cudaSuccess || count == 0) return error;
  const int copies = std::clamp(plan->words_a_block / bins, 1, kMostCopies);
  const int bins_a_pass = std::min(bins, plan->words_a_block);
  const int needed = static_cast<int>((static_cast<unsigned>(count) + kThreads - 1) / kThreads);
  const dim3 grid(std::min(needed, plan->multiprocessors), (bins + bins_a_pass - 1) / bins_a_pass);
  const std::size_t shared_bytes = static_cast<std::size_t>(bins_a_pass) * copies * sizeof(unsigned);
  histogram_copies_kernel<<<grid, kThreads, shared_bytes, stream>>>(ids, count, bins, bins_a_pass, copies,
                                                                    counts);
  return cudaGetLastError();
}

void histogram_free(HistogramPlan* plan) {
  delete plan;
}
