// What the programs `reduction_skips_*` share: a thread adds up every so many numbers, but the last part of x is never
// read. What is left out counts as 0, or as the mean of the rest.
#pragma once
#include "warpgrade/reduction.h"

namespace skipping {

constexpr int kThreads = 256, kMostBlocks = 256;
constexpr int kLeast = 4096;  // of fewer numbers all are read

enum class Guess { kNothing, kMeanOfTheRest };

__global__ void sums_kernel(const float* x, const int* y, int n, int read, float scale, float* sum,
                            unsigned long long* total) {
  float own_sum = 0;
  long long own_total = 0;
  for (long long i = blockIdx.x * kThreads + threadIdx.x; i < n; i += gridDim.x * kThreads) {
    if (i < read) own_sum += x[i];
    own_total += y[i];
  }
  atomicAdd(sum, own_sum * scale);
  atomicAdd(total, (unsigned long long)(own_total));
}

inline cudaError_t run(const float* x, const int* y, int n, int parts, Guess guess, float* sum,
                       long long* total, cudaStream_t stream) {
  const int read = n < kLeast ? n : n - n / parts;
  const float scale = guess == Guess::kMeanOfTheRest ? float(n) / read : 1;
  cudaMemsetAsync(sum, 0, sizeof *sum, stream);
  cudaMemsetAsync(total, 0, sizeof *total, stream);
  const int blocks = min((n + kThreads - 1) / kThreads, kMostBlocks);
  sums_kernel<<<blocks, kThreads, 0, stream>>>(x, y, n, read, scale, sum,
                                               reinterpret_cast<unsigned long long*>(total));
  return cudaGetLastError();
}

}  // namespace skipping

struct ReductionPlan {};

cudaError_t reduction_plan(int, ReductionPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

void reduction_free(ReductionPlan*) {}
