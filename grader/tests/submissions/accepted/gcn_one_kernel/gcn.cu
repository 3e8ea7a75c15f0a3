// Right without a workspace: one kernel for the whole layer multiplies each neighbour's row of X anew; a
// warp a vertex, lanes trade what they have.
#include "warpgrade/gcn.h"

__device__ double factor(const GcnGraph& graph, int v) {
  int degree = graph.row_offsets[v + 1] - graph.row_offsets[v];
  return degree == 0 ? 0 : 1 / sqrt((double)degree);
}

__global__ void layer_kernel(GcnGraph graph, const double* x, const double* w, double* o) {
  int row = blockIdx.x, lane = threadIdx.x, c = lane % 16, half = lane / 16;
  double z = 0;
  for (int e = graph.row_offsets[row]; e < graph.row_offsets[row + 1]; e++) {
    int j = graph.columns[e];
    double y = 0;
    for (int f = 64 * half; f < 64 * half + 64; f++) y += x[j * 128 + f] * w[f * 16 + c];
    z += factor(graph, row) * factor(graph, j) * (y + __shfl_xor_sync(~0u, y, 16));
  }
  double largest = z;
  for (int d = 8; d > 0; d /= 2) largest = fmax(largest, __shfl_xor_sync(~0u, largest, d));
  double sum = exp(z - largest);
  for (int d = 8; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (half == 0) o[row * 16 + c] = z - (largest + log(sum));
}

cudaError_t gcn_plan(const GcnGraph&, GcnPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t gcn_transform(int, const double*, const double*, double*, GcnPlan*, cudaStream_t) {
  return cudaErrorNotSupported;
}

cudaError_t gcn_aggregate(const GcnGraph&, const double*, double*, GcnPlan*, cudaStream_t) {
  return cudaErrorNotSupported;
}

cudaError_t gcn_log_softmax(int, const double*, double*, GcnPlan*, cudaStream_t) {
  return cudaErrorNotSupported;
}

cudaError_t gcn_run(const GcnGraph& graph, const double* x, const double* w, double* o, GcnPlan*, cudaStream_t stream) {
  layer_kernel<<<graph.vertices, 32, 0, stream>>>(graph, x, w, o);
  return cudaGetLastError();
}

void gcn_free(GcnPlan*) {}
