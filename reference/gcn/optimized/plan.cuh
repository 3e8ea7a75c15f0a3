// What the kernels want to know of a graph beforehand: 1 / sqrt(degree) of each vertex, and the long rows cut into
// segments. Built on the GPU; 8 bytes a vertex, 12 bytes a long row, 12 bytes a segment, and Y.
#pragma once

#include <cub/device/device_scan.cuh>

#include "warpgrade/gcn.h"

// Counts of long rows and their segments, and where the lists begin.
struct GcnPlan {
  int multiprocessors = 0;
  int long_rows = 0, segments = 0;
  double* factors = nullptr;       // [v], 1 / sqrt(degree), 0 for a vertex without entries
  double* y = nullptr;             // [v, 16], X * W with row j scaled by factors[j]
  int* row_segments = nullptr;     // [v + 1], segments before this row, scanned
  int* segment_rows = nullptr;     // [segments]
  unsigned* arrived = nullptr;     // [v], segments of a long row that are done; 0 between runs
  double* partials = nullptr;      // [segments, 16]
  void* scratch = nullptr;         // of the scan
  ~GcnPlan() {
    for (void* p : {static_cast<void*>(factors), static_cast<void*>(y), static_cast<void*>(row_segments),
                    static_cast<void*>(segment_rows), static_cast<void*>(arrived), static_cast<void*>(partials),
                    scratch})
      cudaFree(p);
  }
};

namespace optimized {

// Rows longer than this are cut into segments of kSegment entries, a block each: eight lanes would take too long.
constexpr int kLongRow = 128;
constexpr int kSegment = 1024;

#define TRY(call)                               \
  do {                                          \
    const cudaError_t status_ = (call);         \
    if (status_ != cudaSuccess) return status_; \
  } while (0)

__global__ void gcn_inspect_rows_kernel(GcnGraph graph, double* factors, int* row_segments, unsigned* arrived) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row > graph.vertices) return;
  if (row == graph.vertices) {
    row_segments[row] = 0;
    return;
  }
  const int length = graph.row_offsets[row + 1] - graph.row_offsets[row];
  factors[row] = length == 0 ? 0.0 : 1.0 / sqrt(static_cast<double>(length));
  row_segments[row] = length > kLongRow ? (length + kSegment - 1) / kSegment : 0;
  arrived[row] = 0;
}

__global__ void gcn_list_segments_kernel(int vertices, const int* row_segments, int* segment_rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= vertices) return;
  for (int s = row_segments[row]; s < row_segments[row + 1]; ++s) segment_rows[s] = row;
}

inline cudaError_t build_plan(const GcnGraph& graph, GcnPlan& p, cudaStream_t stream) {
  constexpr int kThreads = 256;
  const int rows = graph.vertices, blocks = rows / kThreads + 1;
  int device = 0;
  TRY(cudaGetDevice(&device));
  TRY(cudaDeviceGetAttribute(&p.multiprocessors, cudaDevAttrMultiProcessorCount, device));
  TRY(cudaMalloc(&p.factors, sizeof(double) * rows));
  TRY(cudaMalloc(&p.y, sizeof(double) * kGcnClasses * rows));
  TRY(cudaMalloc(&p.row_segments, sizeof(int) * (rows + 1)));
  TRY(cudaMalloc(&p.arrived, sizeof(unsigned) * rows));
  gcn_inspect_rows_kernel<<<blocks, kThreads, 0, stream>>>(graph, p.factors, p.row_segments, p.arrived);
  TRY(cudaGetLastError());
  size_t bytes = 0;
  TRY(cub::DeviceScan::ExclusiveSum(nullptr, bytes, p.row_segments, p.row_segments, rows + 1, stream));
  TRY(cudaMalloc(&p.scratch, bytes));
  TRY(cub::DeviceScan::ExclusiveSum(p.scratch, bytes, p.row_segments, p.row_segments, rows + 1, stream));
  TRY(cudaMemcpyAsync(&p.segments, p.row_segments + rows, sizeof(int), cudaMemcpyDeviceToHost, stream));
  TRY(cudaStreamSynchronize(stream));
  if (p.segments == 0) return cudaSuccess;
  TRY(cudaMalloc(&p.segment_rows, sizeof(int) * p.segments));
  TRY(cudaMalloc(&p.partials, sizeof(double) * kGcnClasses * p.segments));
  gcn_list_segments_kernel<<<blocks, kThreads, 0, stream>>>(rows, p.row_segments, p.segment_rows);
  return cudaGetLastError();
}

}  // namespace optimized
