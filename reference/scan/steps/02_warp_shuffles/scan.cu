// Scan, step 2: a thread adds up 16 numbers of its own, a warp scans the threads' sums with shuffles, and one
// warp scans the warps' sums. Three kernels as in step 1, over parts that are four times as large.
//
// Cost  2 additions a number; 16·n bytes.
#include "warpgrade/scan.h"

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32, kEach = 16, kPart = kThreads * kEach;
constexpr unsigned kAll = 0xFFFFFFFFu;

__device__ int warp_scan(int value) {
  for (int distance = 1; distance < 32; distance *= 2) {
    const int before = __shfl_up_sync(kAll, value, distance);
    if (int(threadIdx.x % 32) >= distance) value += before;
  }
  return value;
}

// What stands before this thread's `sum` in the block; `total` is the block's.
__device__ int block_scan_before(int sum, int& total) {
  __shared__ int warp_sums[kWarps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, upto = warp_scan(sum);
  __syncthreads();  // the warp sums of the call before have been read
  if (lane == 31) warp_sums[warp] = upto;
  __syncthreads();
  int before = 0;
  total = 0;
  for (int other = 0; other < kWarps; ++other) {
    if (other < warp) before += warp_sums[other];
    total += warp_sums[other];
  }
  return before + upto - sum;
}

__global__ void __launch_bounds__(kThreads)
    scan_parts_kernel(const int* in, int n, int* out, int* part_sums) {
  const long long first = (long long)(blockIdx.x) * kPart + threadIdx.x * kEach;
  int values[kEach], sum = 0, total;
  for (int k = 0; k < kEach; ++k) values[k] = sum += first + k < n ? in[first + k] : 0;
  const int before = block_scan_before(sum, total);
  for (int k = 0; k < kEach; ++k)
    if (first + k < n) out[first + k] = before + values[k];
  if (threadIdx.x == 0) part_sums[blockIdx.x] = total;
}

// One block: part_sums becomes what stands before each part.
__global__ void __launch_bounds__(kThreads) scan_part_sums_kernel(int parts, int* part_sums) {
  int done = 0;
  for (int first = 0; first < parts; first += kThreads) {
    const int part = first + threadIdx.x;
    int total;
    const int before = block_scan_before(part < parts ? part_sums[part] : 0, total);
    if (part < parts) part_sums[part] = done + before;
    done += total;
  }
}

__global__ void __launch_bounds__(kThreads) scan_add_before_kernel(const int* part_sums, int n, int* out) {
  const long long first = (long long)(blockIdx.x) * kPart;
  const int before = part_sums[blockIdx.x];
  for (long long i = first + threadIdx.x; i < first + kPart && i < n; i += kThreads) out[i] += before;
}

int parts_of(int n) {
  return (n + kPart - 1) / kPart;
}

}  // namespace

struct ScanPlan {
  int* part_sums = nullptr;
};

cudaError_t scan_plan(int n, ScanPlan** plan, cudaStream_t) {
  *plan = new ScanPlan;
  return cudaMalloc(&(*plan)->part_sums, parts_of(n) * sizeof(int));
}

cudaError_t scan_run(const int* in, int n, int* out, ScanPlan* plan, cudaStream_t stream) {
  const int parts = parts_of(n);
  scan_parts_kernel<<<parts, kThreads, 0, stream>>>(in, n, out, plan->part_sums);
  scan_part_sums_kernel<<<1, kThreads, 0, stream>>>(parts, plan->part_sums);
  scan_add_before_kernel<<<parts, kThreads, 0, stream>>>(plan->part_sums, n, out);
  return cudaGetLastError();
}

void scan_free(ScanPlan* plan) {
  if (plan != nullptr) cudaFree(plan->part_sums);
  delete plan;
}
