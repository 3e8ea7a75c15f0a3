// Histogram, optimized: private histograms in shared memory, 16-byte loads, several in flight.
//
// Shapes  ids [count], counts [bins].
// Cost    4 bytes read and one shared atomic an id; bins * blocks global atomics.
// Floor   4 * count bytes over the DRAM rate.
// Idea    Two blocks fill an SM with threads; two vectors a thread in flight are enough. Adding the
// constant 1
//         without using the result compiles to ATOMS.POPC.INC: lanes of a warp that hit one bin are merged by
//         the hardware, so that skew costs nothing and votes (step 4) would only add instructions.
#include <algorithm>

#include "warpgrade/histogram.h"

#ifndef HISTOGRAM_THREADS
#define HISTOGRAM_THREADS 1024
#endif
#ifndef HISTOGRAM_BLOCKS
#define HISTOGRAM_BLOCKS 2
#endif
#ifndef HISTOGRAM_IN_FLIGHT
#define HISTOGRAM_IN_FLIGHT 2
#endif

namespace {

struct Tile {
  static constexpr int kThreads = HISTOGRAM_THREADS;
  static constexpr int kBlocksPerSm = HISTOGRAM_BLOCKS;
  static constexpr int kInFlight = HISTOGRAM_IN_FLIGHT;  // 16-byte loads of a thread under way at once
  static_assert(kThreads * kBlocksPerSm <= 2048, "an SM's thread slots");
};

__device__ void count_bin(bool exists, unsigned bin, unsigned* block_counts) {
  if (exists) atomicAdd(&block_counts[bin], 1u);
}

// Counts one id, where its bin is one of the `own` from `first` on.
__device__ void count_id(unsigned id, unsigned first, unsigned own, unsigned* block_counts) {
  const unsigned bin = id / kNodesPerBin - first;
  count_bin(bin < own, bin, block_counts);
}

__device__ void count_four(int4 four, unsigned first, unsigned own, unsigned* block_counts) {
  count_id(four.x, first, own, block_counts);
  count_id(four.y, first, own, block_counts);
  count_id(four.z, first, own, block_counts);
  count_id(four.w, first, own, block_counts);
}

// The ids of this block's share: whole batches of kInFlight vectors a thread, then single vectors, then, by
// the first block, the last ids. Every thread of a warp takes every turn.
__device__ void count_share(const int* __restrict__ ids, unsigned count, unsigned first, unsigned own,
                            unsigned* block_counts) {
  const int4* fours = reinterpret_cast<const int4*>(ids);
  const unsigned four_count = count / 4, step = gridDim.x * Tile::kThreads;
  unsigned base = blockIdx.x * Tile::kThreads;
  for (; base + (Tile::kInFlight - 1) * step + Tile::kThreads <= four_count; base += Tile::kInFlight * step) {
    int4 batch[Tile::kInFlight];
#pragma unroll
    for (int u = 0; u < Tile::kInFlight; ++u) batch[u] = __ldcs(fours + base + u * step + threadIdx.x);
#pragma unroll
    for (int u = 0; u < Tile::kInFlight; ++u) count_four(batch[u], first, own, block_counts);
  }
  for (; base < four_count; base += step) {
    const bool exists = base + threadIdx.x < four_count;
    const int outside = -1;  // as an unsigned number, of every range of bins
    const int4 none = make_int4(outside, outside, outside, outside);
    count_four(exists ? __ldcs(fours + base + threadIdx.x) : none, first, own, block_counts);
  }
  if (blockIdx.x != 0 || threadIdx.x >= 32) return;
  const unsigned last = 4 * four_count + threadIdx.x;
  const unsigned bin = last < count ? ids[last] / kNodesPerBin - first : own;
  count_bin(bin < own, bin, block_counts);
}

// Grid: x = blocks that share the ids, y = passes over ranges of `bins_a_pass` bins.
__global__ __launch_bounds__(Tile::kThreads, Tile::kBlocksPerSm) void histogram_optimized_kernel(
    const int* __restrict__ ids, unsigned count, unsigned bins, unsigned bins_a_pass,
    unsigned* __restrict__ counts) {
  extern __shared__ unsigned block_counts[];  // [min(bins, bins_a_pass)]
  const unsigned first = blockIdx.y * bins_a_pass;
  const unsigned own = min(bins - first, bins_a_pass);
  for (unsigned b = threadIdx.x; b < own; b += Tile::kThreads) block_counts[b] = 0;
  __syncthreads();
  count_share(ids, count, first, own, block_counts);
  __syncthreads();
  for (unsigned b = threadIdx.x; b < own; b += Tile::kThreads) {
    if (block_counts[b] != 0) atomicAdd(&counts[first + b], block_counts[b]);
  }
}

}  // namespace

struct HistogramPlan {
  int multiprocessors = 0;
  int most_bins = 0;  // a pass: a block's share of an SM's shared memory
};

cudaError_t histogram_plan(int, int, HistogramPlan** out, cudaStream_t) {
  *out = nullptr;
  HistogramPlan plan;
  int device = 0, sm_bytes = 0, block_bytes = 0, reserved_bytes = 0;
  const auto ask = [&](cudaDeviceAttr attribute, int& value) {
    return cudaDeviceGetAttribute(&value, attribute, device);
  };
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = ask(cudaDevAttrMultiProcessorCount, plan.multiprocessors);
  if (error == cudaSuccess) error = ask(cudaDevAttrMaxSharedMemoryPerMultiprocessor, sm_bytes);
  if (error == cudaSuccess) error = ask(cudaDevAttrMaxSharedMemoryPerBlockOptin, block_bytes);
  if (error == cudaSuccess) error = ask(cudaDevAttrReservedSharedMemoryPerBlock, reserved_bytes);
  if (error != cudaSuccess) return error;
  const int share = std::min(block_bytes, sm_bytes / Tile::kBlocksPerSm - reserved_bytes) / 16 * 16;
  error =
      cudaFuncSetAttribute(histogram_optimized_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, share);
  if (error != cudaSuccess) return error;
  plan.most_bins = share / static_cast<int>(sizeof(unsigned));
  *out = new HistogramPlan(plan);
  return cudaSuccess;
}

cudaError_t histogram_run(const int* ids, int count, int nodes, unsigned* counts, HistogramPlan* plan,
                          cudaStream_t stream) {
  const int bins = histogram_bins(nodes);
  const cudaError_t error = cudaMemsetAsync(counts, 0, bins * sizeof(unsigned), stream);
  if (error != cudaSuccess || count == 0) return error;
  const int bins_a_pass = std::min(bins, plan->most_bins);
  const int vectors_a_block = 4 * Tile::kThreads;
  const int needed = static_cast<int>((static_cast<unsigned>(count) + vectors_a_block - 1) / vectors_a_block);
  const dim3 grid(std::min(needed, plan->multiprocessors * Tile::kBlocksPerSm),
                  (bins + bins_a_pass - 1) / bins_a_pass);
  const std::size_t shared_bytes = bins_a_pass * sizeof(unsigned);
  histogram_optimized_kernel<<<grid, Tile::kThreads, shared_bytes, stream>>>(ids, count, bins, bins_a_pass,
                                                                             counts);
  return cudaGetLastError();
}

void histogram_free(HistogramPlan* plan) {
  delete plan;
}
