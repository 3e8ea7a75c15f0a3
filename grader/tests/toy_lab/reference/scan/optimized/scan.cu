// Scan, optimized: a warp adds up with shuffles; blocks as in step 1.
//
// Cost  count * (5 + 4) additions, and blocks^2 / 2 for what stands before.
#include "warpgrade/scan.h"

namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) scan_warp_block_kernel(const int* in, int count, int* out) {
  __shared__ int warp_sums[kThreads / 32];
  const int i = blockIdx.x * kThreads + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int sum = i < count ? in[i] : 0;
  for (int distance = 1; distance < 32; distance *= 2) {
    const int before = __shfl_up_sync(~0u, sum, distance);
    if (lane >= distance) sum += before;
  }
  if (lane == 31) warp_sums[warp] = sum;
  __syncthreads();
  for (int other = 0; other < warp; ++other) sum += warp_sums[other];
  if (i < count) out[i] = sum;
}

__global__ void scan_parts_before_kernel(const int* out, int parts, int* sums) {
  int sum = 0;
  for (int part = 0; part < parts; ++part) {
    sums[part] = sum;
    if (part + 1 < parts) sum += out[(part + 1) * kThreads - 1];
  }
}

__global__ void __launch_bounds__(kThreads) scan_add_parts_kernel(const int* sums, int count, int* out) {
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
  scan_warp_block_kernel<<<parts, kThreads, 0, stream>>>(in, count, out);
  scan_parts_before_kernel<<<1, 1, 0, stream>>>(out, parts, plan->sums);
  scan_add_parts_kernel<<<parts, kThreads, 0, stream>>>(plan->sums, count, out);
  return cudaGetLastError();
}

void scan_free(ScanPlan* plan) {
  if (plan != nullptr) cudaFree(plan->sums);
  delete plan;
}
