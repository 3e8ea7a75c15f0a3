// GCN, the ladder of X * W: the rest of the layer, as in naive/. The same file lies in every step, since a
// submission is compiled alone; what differs from step to step is gcn_transform.
#pragma once

#include <cmath>
#include <cstddef>
#include <new>

#include "warpgrade/gcn.h"

struct GcnPlan {
  double* y = nullptr;  // [v, 16]
  double* z = nullptr;  // [v, 16]
  ~GcnPlan() {
    cudaFree(y);
    cudaFree(z);
  }
};

namespace {

constexpr int kCellThreads = 256;

int blocks_for_cells(std::size_t cells) {
  return static_cast<int>((cells + kCellThreads - 1) / kCellThreads);
}

__device__ double degree_factor(const int* row_offsets, int vertex) {
  const int degree = row_offsets[vertex + 1] - row_offsets[vertex];
  return degree == 0 ? 0.0 : 1.0 / sqrt(static_cast<double>(degree));
}

// A thread a cell of Z.
__global__ void gcn_aggregate_naive_kernel(GcnGraph graph, const double* y, double* z) {
  const std::size_t cell = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (cell >= static_cast<std::size_t>(graph.vertices) * kGcnClasses) return;
  const int row = static_cast<int>(cell / kGcnClasses), column = static_cast<int>(cell % kGcnClasses);
  const double own = degree_factor(graph.row_offsets, row);
  double sum = 0;
  for (int e = graph.row_offsets[row]; e < graph.row_offsets[row + 1]; ++e) {
    const int neighbour = graph.columns[e];
    sum += own * degree_factor(graph.row_offsets, neighbour) *
           y[static_cast<std::size_t>(neighbour) * kGcnClasses + column];
  }
  z[cell] = sum;
}

// A thread a row of O.
__global__ void gcn_log_softmax_naive_kernel(int vertices, const double* z, double* o) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= vertices) return;
  const double* from = z + static_cast<std::size_t>(row) * kGcnClasses;
  double* to = o + static_cast<std::size_t>(row) * kGcnClasses;
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
  const std::size_t bytes = sizeof(double) * kGcnClasses * graph.vertices;
  const cudaError_t error = cudaMalloc(&p->y, bytes);
  return error != cudaSuccess ? error : cudaMalloc(&p->z, bytes);
}

cudaError_t gcn_aggregate(const GcnGraph& graph, const double* y, double* z, GcnPlan*, cudaStream_t stream) {
  const std::size_t cells = static_cast<std::size_t>(graph.vertices) * kGcnClasses;
  gcn_aggregate_naive_kernel<<<blocks_for_cells(cells), kCellThreads, 0, stream>>>(graph, y, z);
  return cudaGetLastError();
}

cudaError_t gcn_log_softmax(int vertices, const double* z, double* o, GcnPlan*, cudaStream_t stream) {
  gcn_log_softmax_naive_kernel<<<blocks_for_cells(vertices), kCellThreads, 0, stream>>>(vertices, z, o);
  return cudaGetLastError();
}

cudaError_t gcn_run(const GcnGraph& graph, const double* x, const double* w, double* o, GcnPlan* plan,
                    cudaStream_t stream) {
  cudaError_t error = gcn_transform(graph.vertices, x, w, plan->y, plan, stream);
  if (error == cudaSuccess) error = gcn_aggregate(graph, plan->y, plan->z, plan, stream);
  if (error == cudaSuccess) error = gcn_log_softmax(graph.vertices, plan->z, o, plan, stream);
  return error;
}

void gcn_free(GcnPlan* plan) {
  delete plan;
}
