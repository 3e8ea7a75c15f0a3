// Correct: a warp a row, longest rows first; the plan sorts them with CUB, which is not a vendor's SpMM.
#include <cub/device/device_radix_sort.cuh>
#include <new>

#include "warpgrade/spmm.h"

struct SpmmPlan {
  int* lengths = nullptr;  // [2 * rows]
  int* rows = nullptr;     // [2 * rows], the second half sorted
  void* scratch = nullptr;
  ~SpmmPlan() {
    cudaFree(lengths);
    cudaFree(rows);
    cudaFree(scratch);
  }
};

__global__ void row_lengths_kernel(CsrMatrix a, int* lengths, int* rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= a.rows) return;
  lengths[row] = a.row_offsets[row + 1] - a.row_offsets[row];
  rows[row] = row;
}

__global__ void spmm_sorted_rows_kernel(CsrMatrix a, int k, const float* b, float* c, const int* rows) {
  int warp = blockIdx.x * blockDim.y + threadIdx.y;
  if (warp >= a.rows) return;
  int row = rows[warp], column = blockIdx.y * 32 + threadIdx.x;
  float sum = 0;
  for (int e = a.row_offsets[row]; e < a.row_offsets[row + 1]; e++)
    sum += a.values[e] * b[(size_t)a.columns[e] * k + column];
  c[(size_t)row * k + column] = sum;
}

cudaError_t spmm_plan(const CsrMatrix& a, int, SpmmPlan** plan, cudaStream_t stream) {
  SpmmPlan* p = *plan = new (std::nothrow) SpmmPlan;
  int n = a.rows;
  if (!p || cudaMalloc(&p->lengths, 8 * n) || cudaMalloc(&p->rows, 8 * n)) return cudaErrorMemoryAllocation;
  row_lengths_kernel<<<(n + 255) / 256, 256, 0, stream>>>(a, p->lengths, p->rows);
  size_t bytes = 0;
  auto sort = [&] {
    return cub::DeviceRadixSort::SortPairsDescending(p->scratch, bytes, p->lengths, p->lengths + n, p->rows,
                                                     p->rows + n, n, 0, 32, stream);
  };
  cudaError_t error = sort();
  if (!error) error = cudaMalloc(&p->scratch, bytes);
  return error ? error : sort();
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan* plan, cudaStream_t stream) {
  spmm_sorted_rows_kernel<<<dim3((a.rows + 7) / 8, k / 32), dim3(32, 8), 0, stream>>>(a, k, b, c, plan->rows + a.rows);
  return cudaGetLastError();
}

void spmm_free(SpmmPlan* plan) { delete plan; }
