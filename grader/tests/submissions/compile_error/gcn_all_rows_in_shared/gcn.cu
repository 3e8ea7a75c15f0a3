// The step of the ladder that cannot work: a block's 256 rows of X in shared memory are 256 KB, a
// static array may have 48.
#include <cstddef>

#include "warpgrade/gcn.h"

namespace {

constexpr int kRows = 256;  // a block

__global__ void gcn_transform_all_rows_kernel(int vertices, const double* x, const double* w, double* y) {
  __shared__ double rows[kRows][kGcnFeatures];
  const std::size_t first = blockIdx.x * static_cast<std::size_t>(kRows);
  const int count = min(kRows, static_cast<int>(vertices - first));
  for (int i = threadIdx.x; i < count * kGcnFeatures; i += kRows)
    rows[i / kGcnFeatures][i % kGcnFeatures] = x[first * kGcnFeatures + i];
  __syncthreads();
  if (threadIdx.x >= count) return;
  for (int c = 0; c < kGcnClasses; ++c) {
    double sum = 0;
    for (int f = 0; f < kGcnFeatures; ++f) sum += rows[threadIdx.x][f] * w[f * kGcnClasses + c];
    y[(first + threadIdx.x) * kGcnClasses + c] = sum;
  }
}

}  // namespace

cudaError_t gcn_plan(const GcnGraph&, GcnPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t gcn_transform(int vertices, const double* x, const double* w, double* y, GcnPlan*,
                          cudaStream_t stream) {
  gcn_transform_all_rows_kernel<<<(vertices + kRows - 1) / kRows, kRows, 0, stream>>>(vertices, x, w, y);
  return cudaGetLastError();
}

cudaError_t gcn_aggregate(const GcnGraph&, const double*, double*, GcnPlan*, cudaStream_t) {
  return cudaErrorNotSupported;
}

cudaError_t gcn_log_softmax(int, const double*, double*, GcnPlan*, cudaStream_t) {
  return cudaErrorNotSupported;
}

cudaError_t gcn_run(const GcnGraph&, const double*, const double*, double*, GcnPlan*, cudaStream_t) {
  return cudaErrorNotSupported;
}

void gcn_free(GcnPlan*) {}
