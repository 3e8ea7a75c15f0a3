// Multiplies the degrees as 32-bit numbers before the root: right until two hubs are neighbours.
#include "warpgrade/gcn.h"

__device__ unsigned degree(const GcnGraph& graph, int v) {
  return graph.row_offsets[v + 1] - graph.row_offsets[v];
}

__global__ void aggregate_kernel(GcnGraph graph, const double* y, double* z) {
  int row = blockIdx.x * blockDim.y + threadIdx.y, c = threadIdx.x;
  if (row >= graph.vertices) return;
  double sum = 0;
  for (int e = graph.row_offsets[row]; e < graph.row_offsets[row + 1]; e++) {
    int j = graph.columns[e];
    unsigned product = degree(graph, row) * degree(graph, j);
    if (product != 0) sum += y[j * 16 + c] / sqrt((double)product);
  }
  z[row * 16 + c] = sum;
}

cudaError_t gcn_plan(const GcnGraph&, GcnPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
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
