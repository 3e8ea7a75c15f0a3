// Writes NaN: a checker that asks whether an error is too large never says yes.
#include "warpgrade/gcn.h"

__global__ void transform_kernel(int v, const double* x, const double* w, double* y) {
  int row = blockIdx.x * blockDim.y + threadIdx.y, c = threadIdx.x;
  if (row < v) y[row * 16 + c] = nan("");
}

cudaError_t gcn_plan(const GcnGraph&, GcnPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t gcn_transform(int v, const double* x, const double* w, double* y, GcnPlan*, cudaStream_t stream) {
  transform_kernel<<<(v + 7) / 8, dim3(16, 8), 0, stream>>>(v, x, w, y);
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
