// The plan of the entry stream: which entries begin a row, which rows have entries, and what each warp takes.
//
// Cost    two passes over row_offsets; the host adds up one count per 1024 rows.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "device_array.cuh"
#include "entry_stream.cuh"

namespace optimized {

struct StreamPlanTile {
  static constexpr int kThreads = 256, kRows = 1024;  // of a block
};

__global__ void __launch_bounds__(StreamPlanTile::kThreads)
    spmm_count_filled_rows_kernel(const int* __restrict__ row_offsets, int rows, int* __restrict__ filled) {
  using T = StreamPlanTile;
  int count = 0;
  for (int i = threadIdx.x; i < T::kRows; i += T::kThreads) {
    const std::int64_t row = std::int64_t{blockIdx.x} * T::kRows + i;
    count += __syncthreads_count(row < rows && row_offsets[row] < row_offsets[row + 1]);
  }
  if (threadIdx.x == 0) filled[blockIdx.x] = count;
}

// Writes the rows with entries and those without, both in order, and a bit for each entry that begins a row.
__global__ void __launch_bounds__(StreamPlanTile::kThreads)
    spmm_list_filled_rows_kernel(const int* __restrict__ row_offsets, int rows,
                                 const int* __restrict__ filled_before, int* __restrict__ filled_rows,
                                 int* __restrict__ empty_rows, unsigned* __restrict__ row_starts) {
  using T = StreamPlanTile;
  __shared__ int in_warps[T::kThreads / 32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int filled = filled_before[blockIdx.x];
  for (int i = threadIdx.x; i < T::kRows; i += T::kThreads) {
    const std::int64_t row = std::int64_t{blockIdx.x} * T::kRows + i;
    const int begin = row < rows ? row_offsets[row] : 0;
    const bool is_filled = row < rows && begin < row_offsets[row + 1];
    const unsigned mask = __ballot_sync(~0u, is_filled);
    if (lane == 0) in_warps[warp] = __popc(mask);
    __syncthreads();
    int before = filled + __popc(mask & ((1u << lane) - 1)), all = 0;
    for (unsigned w = 0; w < T::kThreads / 32; ++w) {
      before += w < warp ? in_warps[w] : 0;
      all += in_warps[w];
    }
    if (is_filled) {
      filled_rows[before] = static_cast<int>(row);
      atomicOr(row_starts + begin / 32, 1u << begin % 32);
    } else if (row < rows) {
      empty_rows[row - before] = static_cast<int>(row);
    }
    filled += all;
    __syncthreads();
  }
}

// The first of the filled rows that begins at or behind entry `at`.
__device__ inline int first_row_from(const int* row_offsets, const int* filled_rows, int filled,
                                     std::int64_t at) {
  int low = 0, high = filled;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (row_offsets[filled_rows[middle]] < at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// A part a window of entries: the rows that begin in it, without its last one where that is longer than the
// window. Only the last can be.
__global__ void __launch_bounds__(StreamPlanTile::kThreads)
    spmm_cut_stream_kernel(const int* __restrict__ row_offsets, const int* __restrict__ filled_rows,
                           int filled, int window, StreamPart* __restrict__ parts, int part_count) {
  const int i = static_cast<int>(blockIdx.x) * StreamPlanTile::kThreads + static_cast<int>(threadIdx.x);
  if (i >= part_count) return;
  const std::int64_t at = std::int64_t{i} * window;
  const int first = first_row_from(row_offsets, filled_rows, filled, at);
  const int end = first_row_from(row_offsets, filled_rows, filled, at + window);
  StreamPart part{0, 0, first, 0};
  if (first < end) {
    const int last_row = filled_rows[end - 1];
    const int begin_of_last = row_offsets[last_row], end_of_last = row_offsets[last_row + 1];
    part.begin = row_offsets[filled_rows[first]];
    part.end = end_of_last - begin_of_last > window ? begin_of_last : end_of_last;
  }
  parts[i] = part;
}

class StreamPlan {
 public:
  // Rows of more than `window` entries are not in it. Of a matrix with entries.
  cudaError_t make(const CsrMatrix& a, int window, cudaStream_t stream) {
    using T = StreamPlanTile;
    const int blocks = (a.rows - 1) / T::kRows + 1;
    DeviceArray<int> filled_before;
    TRY(filled_before.allocate(blocks));
    spmm_count_filled_rows_kernel<<<blocks, T::kThreads, 0, stream>>>(a.row_offsets, a.rows,
                                                                      filled_before.get());
    TRY(cudaGetLastError());
    std::vector<int> counts(blocks);
    TRY(cudaMemcpyAsync(counts.data(), filled_before.get(), blocks * sizeof(int), cudaMemcpyDeviceToHost,
                        stream));
    TRY(cudaStreamSynchronize(stream));
    int filled = 0;
    for (int& count : counts) count = std::exchange(filled, filled + count);
    TRY(cudaMemcpyAsync(filled_before.get(), counts.data(), blocks * sizeof(int), cudaMemcpyHostToDevice,
                        stream));

    const std::size_t words = static_cast<std::size_t>(a.nnz) / 32 + 1;
    view_.part_count = (a.nnz - 1) / window + 1;
    view_.empty_count = a.rows - filled;
    TRY(row_starts_.allocate(words));
    TRY(filled_rows_.allocate(filled));
    TRY(empty_rows_.allocate(view_.empty_count));
    TRY(parts_.allocate(view_.part_count));
    TRY(cudaMemsetAsync(row_starts_.get(), 0, words * sizeof(unsigned), stream));
    spmm_list_filled_rows_kernel<<<blocks, T::kThreads, 0, stream>>>(
        a.row_offsets, a.rows, filled_before.get(), filled_rows_.get(), empty_rows_.get(), row_starts_.get());
    TRY(cudaGetLastError());
    spmm_cut_stream_kernel<<<(view_.part_count - 1) / T::kThreads + 1, T::kThreads, 0, stream>>>(
        a.row_offsets, filled_rows_.get(), filled, window, parts_.get(), view_.part_count);
    TRY(cudaGetLastError());
    view_.row_starts = row_starts_.get();
    view_.parts = parts_.get();
    view_.filled_rows = view_.empty_count > 0 ? filled_rows_.get() : nullptr;
    view_.empty_rows = empty_rows_.get();
    return cudaStreamSynchronize(stream);  // filled_before is freed on return
  }
  const StreamView& view() const { return view_; }

 private:
  DeviceArray<unsigned> row_starts_;
  DeviceArray<StreamPart> parts_;
  DeviceArray<int> filled_rows_, empty_rows_;
  StreamView view_;
};

}  // namespace optimized
