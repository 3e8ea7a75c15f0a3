// Sampling, optimized: rows staged ahead of their draws for large fan-outs (rows.cuh), flat fours for small
// ones (flat.cuh). Both use every word of a Philox call, reduce by multiplication and store 16 bytes at a
// time.
//
// Floor   4 * count * fanout bytes written and 4 * edges read, over the DRAM rate.
#include <algorithm>
#include <memory>
#include <new>

#include "flat.cuh"
#include "rows.cuh"
#include "warpgrade/sampling.h"

struct SamplingPlan {
  int multiprocessors = 0;
};

namespace optimized {
namespace {

using WideTile = RowTile<256, 3072, 8>;   // fan-outs of which a quarter fills most of 256 threads
using NarrowTile = RowTile<64, 736, 32>;  // the others
constexpr int kLeastForRows = 64;         // below: flat
constexpr int kLeastForWide = 512;

using RowsKernel = void (*)(CsrGraph, const int*, unsigned, unsigned, std::uint64_t, int*);

template <typename T>
RowsKernel rows_kernel(int fanout) {
  return fanout % 4 == 0 ? sampling_pipelined_rows_kernel<T, true> : sampling_pipelined_rows_kernel<T, false>;
}

template <typename T>
cudaError_t launch_rows(const CsrGraph& graph, const int* nodes, int count, int fanout, std::uint64_t seed,
                        int* samples, const SamplingPlan& plan, cudaStream_t stream) {
  const int blocks = std::min(count, plan.multiprocessors * T::kBlocksPerSm);
  rows_kernel<T>(fanout)<<<blocks, T::kThreads, 0, stream>>>(graph, nodes, count, fanout, seed, samples);
  return cudaGetLastError();
}

// All of an SM's memory to the staging buffers: without it fewer blocks fit.
template <typename T>
cudaError_t prefer_shared_memory(int fanout) {
  return cudaFuncSetAttribute(rows_kernel<T>(fanout), cudaFuncAttributePreferredSharedMemoryCarveout,
                              cudaSharedmemCarveoutMaxShared);
}

}  // namespace
}  // namespace optimized

cudaError_t sampling_plan(const CsrGraph&, int, int fanout, SamplingPlan** out, cudaStream_t) {
  using namespace optimized;
  *out = nullptr;
  std::unique_ptr<SamplingPlan> plan(new (std::nothrow) SamplingPlan);
  if (plan == nullptr) return cudaErrorMemoryAllocation;
  int device = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return error;
  error = cudaDeviceGetAttribute(&plan->multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (error != cudaSuccess) return error;
  error = fanout >= kLeastForWide ? prefer_shared_memory<WideTile>(fanout)
                                  : prefer_shared_memory<NarrowTile>(fanout);
  if (error != cudaSuccess) return error;
  *out = plan.release();
  return cudaSuccess;
}

cudaError_t sampling_run(const CsrGraph& graph, const int* nodes, int count, int fanout, std::uint64_t seed,
                         int* samples, SamplingPlan* plan, cudaStream_t stream) {
  using namespace optimized;
  if (count == 0 || fanout == 0) return cudaSuccess;
  if (fanout >= kLeastForWide)
    return launch_rows<WideTile>(graph, nodes, count, fanout, seed, samples, *plan, stream);
  if (fanout >= kLeastForRows)
    return launch_rows<NarrowTile>(graph, nodes, count, fanout, seed, samples, *plan, stream);
  const unsigned cells = static_cast<unsigned>(count) * fanout;
  const unsigned threads = (cells + 3) / 4, blocks = (threads + kFlatThreads - 1) / kFlatThreads;
  sampling_flat_kernel<<<blocks, kFlatThreads, 0, stream>>>(graph, nodes, cells, fanout, seed, samples);
  return cudaGetLastError();
}

void sampling_free(SamplingPlan* plan) {
  delete plan;
}
