// Right in another order: N * X first, 128 numbers a vertex, then * W, and a softmax that keeps a running
// maximum.
#include "warpgrade/gcn.h"

struct GcnPlan {
  double* gathered = nullptr;
};

__device__ double factor(const GcnGraph& graph, int v) {
  int degree = graph.row_offsets[v + 1] - graph.row_offsets[v];
  return degree == 0 ? 0 : 1 / sqrt((double)degree);
}

__global__ void gather_kernel(GcnGraph graph, const double* x, double* gathered) {
  int row = blockIdx.x, f = threadIdx.x;
  double sum = 0;
  for (int e = graph.row_offsets[row]; e < graph.row_offsets[row + 1]; e++) {
    int j = graph.columns[e];
    sum += factor(graph, j) * x[j * 128 + f];
  }
  gathered[row * 128 + f] = factor(graph, row) * sum;
}

__global__ void classes_kernel(int v, const double* gathered, const double* w, double* o) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= v) return;
  double z[16] = {}, largest = -HUGE_VAL, sum = 0;
  for (int f = 0; f < 128; f++)
    for (int c = 0; c < 16; c++) z[c] = fma(gathered[row * 128 + f], w[f * 16 + c], z[c]);
  for (int c = 0; c < 16; c++) {
    double next = fmax(largest, z[c]);
    sum = sum * exp(largest - next) + exp(z[c] - next);
    largest = next;
  }
  for (int c = 0; c < 16; c++) o[row * 16 + c] = z[c] - largest - log(sum);
}

cudaError_t gcn_plan(const GcnGraph& graph, GcnPlan** plan, cudaStream_t) {
  *plan = new GcnPlan;
  return cudaMalloc(&(*plan)->gathered, sizeof(double) * 128 * graph.vertices);
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

cudaError_t gcn_run(const GcnGraph& graph, const double* x, const double* w, double* o, GcnPlan* plan,
                    cudaStream_t stream) {
  gather_kernel<<<graph.vertices, 128, 0, stream>>>(graph, x, plan->gathered);
  classes_kernel<<<(graph.vertices + 63) / 64, 64, 0, stream>>>(graph.vertices, plan->gathered, w, o);
  return cudaGetLastError();
}

void gcn_free(GcnPlan* plan) {
  if (plan != nullptr) cudaFree(plan->gathered);
  delete plan;
}
