// Each row of Y has the right sum, all of it in the first class: a checker of row sums is content.
#include "warpgrade/gcn.h"

__global__ void transform_kernel(int v, const double* x, const double* w, double* y) {
  int row = blockIdx.x * blockDim.y + threadIdx.y, c = threadIdx.x;
  if (row >= v || c > 0) return;
  double sum = 0;
  for (int f = 0; f < 128; f++)
    for (int k = 0; k < 16; k++) sum += x[row * 128 + f] * w[f * 16 + k];
  y[row * 16] = sum;
  for (int k = 1; k < 16; k++) y[row * 16 + k] = 0;
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
