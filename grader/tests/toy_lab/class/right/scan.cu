// Right: blocks add up their parts, a second kernel adds what stands before each part.
//
// Cost  count * log2(256) additions, and blocks^2 / 2 for what stands before.
#include "warpgrade/scan.h"

namespace {

#ifndef SCAN_THREADS
#define SCAN_THREADS 256
#endif
constexpr int kThreads = SCAN_THREADS;

__global__ void __launch_bounds__(kThreads) scan_block_kernel(const int* in, int count, int* out) {
  __shared__ int sums[kThreads];
  const int i = blockIdx.x * kThreads + threadIdx.x;
  sums[threadIdx.x] = i < count ? in[i] : 0;
  for (int distance = 1; distance < kThreads; distance *= 2) {
    __syncthreads();
    const int before = int(threadIdx.x) >= distance ? sums[threadIdx.x - distance] : 0;
    __syncthreads();
    sums[threadIdx.x] += before;
  }
  if (i < count) out[i] = sums[threadIdx.x];
}

__global__ void scan_last_of_parts_kernel(const int* out, int parts, int* sums) {
  int sum = 0;
  for (int part = 0; part < parts; ++part) {
    sums[part] = sum;
    if (part + 1 < parts) sum += out[(part + 1) * kThreads - 1];
  }
}

__global__ void __launch_bounds__(kThreads) scan_add_before_kernel(const int* sums, int count, int* out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) out[i] += sums[blockIdx.x];
}

}  // namespace

struct ScanPlan {
  int* sums = nullptr;
};

cudaError_t scan_plan(int count, ScanPlan** plan, cudaStream_t) {
  *plan = new ScanPlan;
  return cudaMalloc(&(*plan)->sums, (count + kThreads - 1) / kThreads * sizeof(int));
}

cudaError_t scan_run(const int* in, int count, int* out, ScanPlan* plan, cudaStream_t stream) {
  const int parts = (count + kThreads - 1) / kThreads;
  scan_block_kernel<<<parts, kThreads, 0, stream>>>(in, count, out);
  scan_last_of_parts_kernel<<<1, 1, 0, stream>>>(out, parts, plan->sums);
  scan_add_before_kernel<<<parts, kThreads, 0, stream>>>(plan->sums, count, out);
  return cudaGetLastError();
}

void scan_free(ScanPlan* plan) {
  if (plan != nullptr) cudaFree(plan->sums);
  delete plan;
}
