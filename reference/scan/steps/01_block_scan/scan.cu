// Scan, step 1: blocks scan their parts in shared memory, one block scans the parts' sums, and a third kernel
// adds to each part what stands before it.
//
// Cost  n * log2(1024) additions; 16·n bytes: in is read, out is written, read and written again.
#include "warpgrade/scan.h"

namespace {

constexpr int kThreads = 1024;

// The running sums of the block's `value`s (W. D. Hillis and G. L. Steele 1986).
__device__ int block_scan(int value, int* sums) {
  sums[threadIdx.x] = value;
  __syncthreads();
  for (int distance = 1; distance < kThreads; distance *= 2) {
    const int before = int(threadIdx.x) >= distance ? sums[threadIdx.x - distance] : 0;
    __syncthreads();
    value += before;
    sums[threadIdx.x] = value;
    __syncthreads();
  }
  return value;
}

__global__ void __launch_bounds__(kThreads)
    scan_parts_kernel(const int* in, int n, int* out, int* part_sums) {
  __shared__ int sums[kThreads];
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const int sum = block_scan(i < n ? in[i] : 0, sums);
  if (i < n) out[i] = sum;
  if (threadIdx.x == kThreads - 1) part_sums[blockIdx.x] = sum;
}

// One block: part_sums becomes what stands before each part.
__global__ void __launch_bounds__(kThreads) scan_part_sums_kernel(int parts, int* part_sums) {
  __shared__ int sums[kThreads];
  int before = 0;
  for (int first = 0; first < parts; first += kThreads) {
    const int part = first + threadIdx.x;
    const int own = part < parts ? part_sums[part] : 0;
    const int sum = block_scan(own, sums);
    if (part < parts) part_sums[part] = before + sum - own;
    before += sums[kThreads - 1];
    __syncthreads();
  }
}

__global__ void __launch_bounds__(kThreads) scan_add_before_kernel(const int* part_sums, int n, int* out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n) out[i] += part_sums[blockIdx.x];
}

int parts_of(int n) {
  return (n + kThreads - 1) / kThreads;
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
