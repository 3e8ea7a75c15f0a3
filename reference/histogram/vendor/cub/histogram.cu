// Histogram with CUB: DeviceHistogram::HistogramEven over levels 40 apart.
#include <cstdint>
#include <cub/device/device_histogram.cuh>
#include <memory>
#include <new>

#include "warpgrade/histogram.h"

struct HistogramPlan {
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;
  ~HistogramPlan() { cudaFree(scratch); }
};

namespace {

cudaError_t histogram_even(void* scratch, std::size_t& scratch_bytes, const int* ids, int count, int nodes,
                           unsigned* counts, cudaStream_t stream) {
  const int bins = histogram_bins(nodes);
  return cub::DeviceHistogram::HistogramEven(scratch, scratch_bytes, ids, counts, bins + 1, 0,
                                             bins * kNodesPerBin, count, stream);
}

}  // namespace

cudaError_t histogram_plan(int count, int nodes, HistogramPlan** out, cudaStream_t stream) {
  *out = nullptr;
  std::unique_ptr<HistogramPlan> plan(new (std::nothrow) HistogramPlan);
  if (plan == nullptr) return cudaErrorMemoryAllocation;
  cudaError_t error = histogram_even(nullptr, plan->scratch_bytes, nullptr, count, nodes, nullptr, stream);
  if (error != cudaSuccess) return error;
  error = cudaMalloc(&plan->scratch, plan->scratch_bytes + 1);
  if (error != cudaSuccess) return error;
  *out = plan.release();
  return cudaSuccess;
}

cudaError_t histogram_run(const int* ids, int count, int nodes, unsigned* counts, HistogramPlan* plan,
                          cudaStream_t stream) {
  return histogram_even(plan->scratch, plan->scratch_bytes, ids, count, nodes, counts, stream);
}

void histogram_free(HistogramPlan* plan) {
  delete plan;
}
