// Keeps the factors of the first graph that it was ever given; the next plan is for another one.
#include "warpgrade/gcn.h"

__device__ double factors[1 << 16];

__global__ void factors_kernel(GcnGraph graph) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= graph.vertices) return;
  int degree = graph.row_offsets[v + 1] - graph.row_offsets[v];
  factors[v] = degree == 0 ? 0 : 1 / sqrt((double)degree);
}

__global__ void aggregate_kernel(GcnGraph graph, const double* y, double* z) {
  int row = blockIdx.x * blockDim.y + threadIdx.y, c = threadIdx.x;
  if (row >= graph.vertices) return;
  double sum = 0;
  for (int e = graph.row_offsets[row]; e < graph.row_offsets[row + 1]; e++) {
    int j = graph.columns[e];
    sum += factors[row] * factors[j] * y[j * 16 + c];
  }
  z[row * 16 + c] = sum;
}

cudaError_t gcn_plan(const GcnGraph& graph, GcnPlan** plan, cudaStream_t stream) {
  static bool done = false;
  *plan = nullptr;
  if (done) return cudaSuccess;
  done = true;
  factors_kernel<<<(graph.vertices + 255) / 256, 256, 0, stream>>>(graph);
  return cudaGetLastError();
}

cudaError_t gcn_transform(int, const double*, const double*, double*, GcnPlan*, cudaStream_t) {
  return cudaErrorNotSupported;
}

cudaError_t gcn_aggregate(const GcnGraph& graph, const double* y, double* z, GcnPlan*, cudaStream_t stream) {
  aggregate_kernel<<<(graph.vertices + 7) / 8, dim3(16, 8), 0, stream>>>(graph, y, z);
  return cudaGetLastError();
}

cudaError_t gcn_log_softmax(int, const double*, double*, GcnPlan*, cudaStream_t) {
  return cudaErrorNotSupported;
}

cudaError_t gcn_run(const GcnGraph&, const double*, const double*, double*, GcnPlan*, cudaStream_t) {
  return cudaErrorNotSupported;
}

void gcn_free(GcnPlan*) {}
