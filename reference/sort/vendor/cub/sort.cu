// Sort by CUB's DeviceRadixSort::SortKeys: the baseline.
#include <cub/device/device_radix_sort.cuh>

#include "warpgrade/sort.h"

struct SortPlan {
  void* scratch = nullptr;
  std::size_t bytes = 0;
};

cudaError_t sort_plan(int n, SortPlan** plan, cudaStream_t) {
  *plan = new SortPlan;
  const unsigned* keys = nullptr;
  unsigned* sorted = nullptr;
  const cudaError_t error = cub::DeviceRadixSort::SortKeys(nullptr, (*plan)->bytes, keys, sorted, n);
  if (error != cudaSuccess) return error;
  return cudaMalloc(&(*plan)->scratch, (*plan)->bytes);
}

cudaError_t sort_run(const unsigned* keys, int n, unsigned* sorted, SortPlan* plan, cudaStream_t stream) {
  return cub::DeviceRadixSort::SortKeys(plan->scratch, plan->bytes, keys, sorted, n, 0, 32, stream);
}

void sort_free(SortPlan* plan) {
  if (plan != nullptr) cudaFree(plan->scratch);
  delete plan;
}
