// Reduction, step 3: as many blocks as the GPU holds at once add up many numbers each in registers, 16
// bytes a load.
//
// Cost  8·n bytes; no atomics: a second kernel adds up the blocks' sums.
#include "warpgrade/reduction.h"

namespace {

constexpr int kThreads = 512, kWarps = kThreads / 32, kBlocksAnSm = 4, kInFlight = 1;
constexpr unsigned kAll = 0xFFFFFFFFu;

struct Part {
  float sum;
  long long total;
};

template <typename Number>
__device__ Number warp_sum(Number value) {
#pragma unroll
  for (int k = 16; k > 0; k /= 2) value += __shfl_xor_sync(kAll, value, k);
  return value;
}

// The block's sum of its threads' parts, in thread 0.
__device__ Part block_sum(Part part) {
  __shared__ float sums[kWarps];
  __shared__ long long totals[kWarps];
  part = {warp_sum(part.sum), warp_sum(part.total)};
  if (threadIdx.x % 32 == 0) {
    sums[threadIdx.x / 32] = part.sum;
    totals[threadIdx.x / 32] = part.total;
  }
  __syncthreads();
  if (threadIdx.x >= 32) return part;
  const bool has_warp = threadIdx.x < kWarps;
  return {warp_sum(has_warp ? sums[threadIdx.x] : 0.0f), warp_sum(has_warp ? totals[threadIdx.x] : 0ll)};
}

__device__ void add(Part& part, float4 x, int4 y) {
  part.sum += (x.x + x.y) + (x.z + x.w);
  part.total += ((long long)(y.x) + y.y) + ((long long)(y.z) + y.w);
}

__global__ void __launch_bounds__(kThreads)
    reduction_parts_kernel(const float* x, const int* y, int n, Part* parts) {
  const auto* xs = reinterpret_cast<const float4*>(x);
  const auto* ys = reinterpret_cast<const int4*>(y);
  const int vectors = n / 4, step = gridDim.x * kThreads, first = blockIdx.x * kThreads + threadIdx.x;
  Part part{0, 0};
  int v = first;
  for (; v < vectors - (kInFlight - 1) * step; v += kInFlight * step) {
    float4 four_x[kInFlight];
    int4 four_y[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      four_x[k] = __ldcs(xs + v + k * step);
      four_y[k] = __ldcs(ys + v + k * step);
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) add(part, four_x[k], four_y[k]);
  }
  for (; v < vectors; v += step) add(part, xs[v], ys[v]);
  if (4 * vectors + first < n) {
    part.sum += x[4 * vectors + first];
    part.total += y[4 * vectors + first];
  }
  part = block_sum(part);
  if (threadIdx.x == 0) parts[blockIdx.x] = part;
}

__global__ void __launch_bounds__(kThreads)
    reduction_last_kernel(const Part* parts, int count, float* sum, long long* total) {
  Part part{0, 0};
  for (int i = threadIdx.x; i < count; i += kThreads) {
    part.sum += parts[i].sum;
    part.total += parts[i].total;
  }
  part = block_sum(part);
  if (threadIdx.x > 0) return;
  *sum = part.sum;
  *total = part.total;
}

}  // namespace

struct ReductionPlan {
  int blocks = 0;
  Part* parts = nullptr;
};

cudaError_t reduction_plan(int n, ReductionPlan** plan, cudaStream_t) {
  *plan = new ReductionPlan;
  int device = 0, multiprocessors = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  const int needed = (n / 4 + kThreads) / kThreads;
  (*plan)->blocks = needed < kBlocksAnSm * multiprocessors ? needed : kBlocksAnSm * multiprocessors;
  return cudaMalloc(&(*plan)->parts, (*plan)->blocks * sizeof(Part));
}

cudaError_t reduction_run(const float* x, const int* y, int n, float* sum, long long* total,
                          ReductionPlan* plan, cudaStream_t stream) {
  reduction_parts_kernel<<<plan->blocks, kThreads, 0, stream>>>(x, y, n, plan->parts);
  reduction_last_kernel<<<1, kThreads, 0, stream>>>(plan->parts, plan->blocks, sum, total);
  return cudaGetLastError();
}

void reduction_free(ReductionPlan* plan) {
  if (plan != nullptr) cudaFree(plan->parts);
  delete plan;
}
