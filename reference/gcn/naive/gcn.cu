// GCN, naive: a thread a cell of Y and Z, a thread a row of O; three kernels with Y and Z in device memory.
//
// Shapes  X [v, 128], W [128, 16], Y, Z, O [v, 16], fp64, row-major.
// Cost    the transform reads X once a column of W (through the caches) and W once a row; the aggregation
//         computes both square roots for every entry.
#include <cmath>
#include <new>

#include "warpgrade/gcn.h"

#define TRY(call)                               \
  do {                                          \
    const cudaError_t status_ = (call);         \
    if (status_ != cudaSuccess) return status_; \
  } while (0)

struct GcnPlan {
  double* y = nullptr;  // [v, 16]
  double* z = nullptr;  // [v, 16]
  ~GcnPlan() {
    cudaFree(y);
    cudaFree(z);
  }
};

namespace {

constexpr int kThreads = 256;

int blocks_for(size_t threads) {
  return static_cast<int>((threads + kThreads - 1) / kThreads);
}

__global__ void gcn_transform_naive_kernel(int vertices, const double* x, const double* w, double* y) {
  const size_t cell = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (cell >= static_cast<size_t>(vertices) * kGcnClasses) return;
  const size_t row = cell / kGcnClasses, column = cell % kGcnClasses;
  double sum = 0;
  for (int f = 0; f < kGcnFeatures; ++f) sum += x[row * kGcnFeatures + f] * w[f * kGcnClasses + column];
  y[cell] = sum;
}

__device__ double degree_factor(const int* row_offsets, int vertex) {
  const int degree = row_offsets[vertex + 1] - row_offsets[vertex];
  return degree == 0 ? 0.0 : 1.0 / sqrt(static_cast<double>(degree));
}

__global__ void gcn_aggregate_naive_kernel(GcnGraph graph, const double* y, double* z) {
  const size_t cell = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (cell >= static_cast<size_t>(graph.vertices) * kGcnClasses) return;
  const int row = static_cast<int>(cell / kGcnClasses), column = static_cast<int>(cell % kGcnClasses);
  const double own = degree_factor(graph.row_offsets, row);
  double sum = 0;
  for (int e = graph.row_offsets[row]; e < graph.row_offsets[row + 1]; ++e) {
    const int neighbour = graph.columns[e];
    sum += own * degree_factor(graph.row_offsets, neighbour) *
           y[static_cast<size_t>(neighbour) * kGcnClasses + column];
  }
  z[cell] = sum;
}

__global__ void gcn_log_softmax_naive_kernel(int vertices, const double* z, double* o) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= vertices) return;
  const double* from = z + static_cast<size_t>(row) * kGcnClasses;
  double* to = o + static_cast<size_t>(row) * kGcnClasses;
  double largest = from[0], sum = 0;
  for (int c = 1; c < kGcnClasses; ++c) largest = fmax(largest, from[c]);
  for (int c = 0; c < kGcnClasses; ++c) sum += exp(from[c] - largest);
  const double shift = largest + log(sum);
  for (int c = 0; c < kGcnClasses; ++c) to[c] = from[c] - shift;
}

}  // namespace

cudaError_t gcn_plan(const GcnGraph& graph, GcnPlan** plan, cudaStream_t) {
  GcnPlan* p = *plan = new (std::nothrow) GcnPlan;
  if (p == nullptr) return cudaErrorMemoryAllocation;
  const size_t bytes = sizeof(double) * kGcnClasses * graph.vertices;
  TRY(cudaMalloc(&p->y, bytes));
  return cudaMalloc(&p->z, bytes);
}

cudaError_t gcn_transform(int vertices, const double* x, const double* w, double* y, GcnPlan*,
                          cudaStream_t stream) {
  const size_t cells = static_cast<size_t>(vertices) * kGcnClasses;
  gcn_transform_naive_kernel<<<blocks_for(cells), kThreads, 0, stream>>>(vertices, x, w, y);
  return cudaGetLastError();
}

cudaError_t gcn_aggregate(const GcnGraph& graph, const double* y, double* z, GcnPlan*, cudaStream_t stream) {
  const size_t cells = static_cast<size_t>(graph.vertices) * kGcnClasses;
  gcn_aggregate_naive_kernel<<<blocks_for(cells), kThreads, 0, stream>>>(graph, y, z);
  return cudaGetLastError();
}

cudaError_t gcn_log_softmax(int vertices, const double* z, double* o, GcnPlan*, cudaStream_t stream) {
  gcn_log_softmax_naive_kernel<<<blocks_for(vertices), kThreads, 0, stream>>>(vertices, z, o);
  return cudaGetLastError();
}

cudaError_t gcn_run(const GcnGraph& graph, const double* x, const double* w, double* o, GcnPlan* plan,
                    cudaStream_t stream) {
  TRY(gcn_transform(graph.vertices, x, w, plan->y, plan, stream));
  TRY(gcn_aggregate(graph, plan->y, plan->z, plan, stream));
  return gcn_log_softmax(graph.vertices, plan->z, o, plan, stream);
}

void gcn_free(GcnPlan* plan) {
  delete plan;
}
