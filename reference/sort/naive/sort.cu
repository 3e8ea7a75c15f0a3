// Sort, naive: a bitonic network over a power of two (K. E. Batcher 1968), a kernel a stage; behind the keys
// stand the greatest ones there are.
//
// Cost  n * log2(n)^2 / 4 comparisons, log2(n)^2 / 2 passes over the keys.
#include "warpgrade/sort.h"

namespace {

constexpr int kThreads = 256;

__global__ void sort_fill_kernel(const unsigned* keys, int n, long long padded, unsigned* work) {
  const long long i = blockIdx.x * (long long)(kThreads) + threadIdx.x;
  if (i < padded) work[i] = i < n ? keys[i] : 0xFFFFFFFFu;
}

// Compares cells `distance` apart, in runs of `run` that rise and fall in turn.
__global__ void sort_stage_kernel(unsigned* work, long long padded, long long run, long long distance) {
  const long long t = blockIdx.x * (long long)(kThreads) + threadIdx.x;
  const long long i = t / distance * 2 * distance + t % distance;
  if (i + distance >= padded) return;
  const unsigned a = work[i], b = work[i + distance];
  const bool rises = (i / run) % 2 == 0;
  if ((a > b) == rises) {
    work[i] = b;
    work[i + distance] = a;
  }
}

long long blocks_for(long long threads) {
  return (threads + kThreads - 1) / kThreads;
}

}  // namespace

struct SortPlan {
  long long padded = 1;
  unsigned* work = nullptr;
};

cudaError_t sort_plan(int n, SortPlan** plan, cudaStream_t) {
  *plan = new SortPlan;
  while ((*plan)->padded < n) (*plan)->padded *= 2;
  return cudaMalloc(&(*plan)->work, (*plan)->padded * sizeof(unsigned));
}

cudaError_t sort_run(const unsigned* keys, int n, unsigned* sorted, SortPlan* plan, cudaStream_t stream) {
  const long long padded = plan->padded;
  sort_fill_kernel<<<blocks_for(padded), kThreads, 0, stream>>>(keys, n, padded, plan->work);
  for (long long run = 2; run <= padded; run *= 2) {
    for (long long distance = run / 2; distance > 0; distance /= 2)
      sort_stage_kernel<<<blocks_for(padded / 2), kThreads, 0, stream>>>(plan->work, padded, run, distance);
  }
  cudaMemcpyAsync(sorted, plan->work, n * sizeof(unsigned), cudaMemcpyDeviceToDevice, stream);
  return cudaGetLastError();
}

void sort_free(SortPlan* plan) {
  if (plan != nullptr) cudaFree(plan->work);
  delete plan;
}
