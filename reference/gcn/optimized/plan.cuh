// What the kernels want to know of a graph beforehand. Built on the GPU; 28 bytes a vertex, 4 an entry, 132 a
// segment, and Y.
//
// Rows are sorted by length, longest first, those of equal length in their old order: lanes side by side then
// have as much to do as each other, and what takes long begins early. Their columns are copied in that order.
// Rows beyond kLongRow entries, the first ones, are cut into segments.
#pragma once

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "warpgrade/gcn.h"

struct GcnPlan {
  int multiprocessors = 0;
  int long_rows = 0, segments = 0;
  double* factors = nullptr;    // [v], 1 / sqrt(degree), 0 for a vertex without entries
  double* y = nullptr;          // [v, 16], X * W with row j scaled by factors[j]
  int* order = nullptr;         // [v], rows, longest first
  int* begins = nullptr;        // [v + 1], of the sorted rows in `columns`
  int* columns = nullptr;       // [nnz], of the sorted rows
  int* row_segments = nullptr;  // [v + 1], segments before a sorted row
  int* segment_rows = nullptr;  // [segments], places in `order`
  unsigned* arrived = nullptr;  // [v], segments of a long row that are done; 0 between runs
  double* partials = nullptr;   // [segments, 16]
  ~GcnPlan() {
    for (void* p :
         {static_cast<void*>(factors), static_cast<void*>(y), static_cast<void*>(order),
          static_cast<void*>(begins), static_cast<void*>(columns), static_cast<void*>(row_segments),
          static_cast<void*>(segment_rows), static_cast<void*>(arrived), static_cast<void*>(partials)})
      cudaFree(p);
  }
};

namespace optimized {

// Rows longer than this are cut into segments of kSegment entries, a block each: eight lanes would take
// too long.
constexpr int kLongRow = 128;
constexpr int kSegment = 512;

#define TRY(call)                               \
  do {                                          \
    const cudaError_t status_ = (call);         \
    if (status_ != cudaSuccess) return status_; \
  } while (0)

// keys: lengths; values: rows.
__global__ void gcn_inspect_rows_kernel(GcnGraph graph, double* factors, int* keys, int* values) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= graph.vertices) return;
  const int length = graph.row_offsets[row + 1] - graph.row_offsets[row];
  factors[row] = length == 0 ? 0.0 : 1.0 / sqrt(static_cast<double>(length));
  keys[row] = length;
  values[row] = row;
}

// lengths: of the sorted rows; on return begins and row_segments hold counts, to be scanned.
__global__ void gcn_count_kernel(int vertices, const int* lengths, int* begins, int* row_segments,
                                 unsigned* arrived) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > vertices) return;
  const int length = i < vertices ? lengths[i] : 0;
  begins[i] = length;
  row_segments[i] = length > kLongRow ? (length + kSegment - 1) / kSegment : 0;
  if (i < vertices) arrived[i] = 0;
}

// A warp a row.
__global__ void gcn_pack_columns_kernel(GcnGraph graph, const int* order, const int* begins, int* columns) {
  const int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (i >= graph.vertices) return;
  const int from = graph.row_offsets[order[i]], to = begins[i], length = begins[i + 1] - to;
  for (int e = lane; e < length; e += 32) columns[to + e] = graph.columns[from + e];
}

__global__ void gcn_list_segments_kernel(int vertices, const int* row_segments, int* segment_rows,
                                         int* long_rows) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= vertices) return;
  for (int s = row_segments[i]; s < row_segments[i + 1]; ++s) segment_rows[s] = i;
  const bool is_long = row_segments[i] < row_segments[i + 1];
  const bool next_is_long = i + 1 < vertices && row_segments[i + 1] < row_segments[i + 2];
  if (is_long && !next_is_long) *long_rows = i + 1;
}

// Memory that lives while the plan is built.
struct PlanScratch {
  int *lengths = nullptr, *rows = nullptr, *sorted_lengths = nullptr, *long_rows = nullptr;
  void* library = nullptr;
  ~PlanScratch() {
    for (void* p : {static_cast<void*>(lengths), static_cast<void*>(rows), static_cast<void*>(sorted_lengths),
                    static_cast<void*>(long_rows), library})
      cudaFree(p);
  }
};

inline cudaError_t allocate(const GcnGraph& graph, GcnPlan& p, PlanScratch& scratch) {
  const size_t v = graph.vertices, ints = sizeof(int) * (v + 1);
  TRY(cudaMalloc(&p.factors, sizeof(double) * v));
  TRY(cudaMalloc(&p.y, sizeof(double) * kGcnClasses * v));
  for (int** array : {&p.order, &p.begins, &p.row_segments, &scratch.lengths, &scratch.rows,
                      &scratch.sorted_lengths, &scratch.long_rows})
    TRY(cudaMalloc(array, ints));
  TRY(cudaMalloc(&p.arrived, ints));
  return cudaMalloc(&p.columns, sizeof(int) * graph.nnz + sizeof(int));
}

inline cudaError_t sort_rows(const GcnGraph& graph, GcnPlan& p, PlanScratch& scratch, cudaStream_t stream) {
  constexpr int kThreads = 256;
  const int v = graph.vertices, blocks = v / kThreads + 1;
  gcn_inspect_rows_kernel<<<blocks, kThreads, 0, stream>>>(graph, p.factors, scratch.lengths, scratch.rows);
  TRY(cudaGetLastError());
  size_t sort_bytes = 0, scan_bytes = 0;
  const auto sort = [&](size_t& bytes) {
    return cub::DeviceRadixSort::SortPairsDescending(scratch.library, bytes, scratch.lengths,
                                                     scratch.sorted_lengths, scratch.rows, p.order, v, 0, 32,
                                                     stream);
  };
  TRY(sort(sort_bytes));
  TRY(cub::DeviceScan::ExclusiveSum(nullptr, scan_bytes, p.begins, p.begins, v + 1, stream));
  const size_t bytes = sort_bytes > scan_bytes ? sort_bytes : scan_bytes;
  TRY(cudaMalloc(&scratch.library, bytes));
  TRY(sort(sort_bytes));
  gcn_count_kernel<<<blocks, kThreads, 0, stream>>>(v, scratch.sorted_lengths, p.begins, p.row_segments,
                                                    p.arrived);
  TRY(cudaGetLastError());
  TRY(cub::DeviceScan::ExclusiveSum(scratch.library, scan_bytes, p.begins, p.begins, v + 1, stream));
  TRY(cub::DeviceScan::ExclusiveSum(scratch.library, scan_bytes, p.row_segments, p.row_segments, v + 1,
                                    stream));
  gcn_pack_columns_kernel<<<v / (kThreads / 32) + 1, kThreads, 0, stream>>>(graph, p.order, p.begins,
                                                                            p.columns);
  return cudaGetLastError();
}

inline cudaError_t build_plan(const GcnGraph& graph, GcnPlan& p, cudaStream_t stream) {
  int device = 0;
  TRY(cudaGetDevice(&device));
  TRY(cudaDeviceGetAttribute(&p.multiprocessors, cudaDevAttrMultiProcessorCount, device));
  PlanScratch scratch;
  TRY(allocate(graph, p, scratch));
  TRY(sort_rows(graph, p, scratch, stream));
  const int v = graph.vertices;
  TRY(cudaMemcpyAsync(&p.segments, p.row_segments + v, sizeof(int), cudaMemcpyDeviceToHost, stream));
  TRY(cudaStreamSynchronize(stream));
  if (p.segments == 0) return cudaSuccess;
  TRY(cudaMalloc(&p.segment_rows, sizeof(int) * p.segments));
  TRY(cudaMalloc(&p.partials, sizeof(double) * kGcnClasses * p.segments));
  gcn_list_segments_kernel<<<v / 256 + 1, 256, 0, stream>>>(v, p.row_segments, p.segment_rows,
                                                            scratch.long_rows);
  TRY(cudaGetLastError());
  TRY(cudaMemcpyAsync(&p.long_rows, scratch.long_rows, sizeof(int), cudaMemcpyDeviceToHost, stream));
  return cudaStreamSynchronize(stream);
}

}  // namespace optimized
