// Correct and slow: a thread a row, C accumulated in global memory.
#include "warpgrade/spmm.h"

__global__ void spmm_row_kernel(CsrMatrix a, int k, const float* b, float* c) {
  size_t row = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (row >= a.rows) return;
  for (int j = 0; j < k; j++) c[row * k + j] = 0.0f;
  for (int e = a.row_offsets[row]; e < a.row_offsets[row + 1]; e++) {
    const float* b_row = b + (size_t)a.columns[e] * k;
    for (int j = 0; j < k; j++) c[row * k + j] += a.values[e] * b_row[j];
  }
}

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  spmm_row_kernel<<<(a.rows + 127) / 128, 128, 0, stream>>>(a, k, b, c);
  return cudaGetLastError();
}

void spmm_free(SpmmPlan*) {}
