// The plan sorts rows by their length on the host, in managed memory that kernels read as well.
#include <algorithm>

#include "warpgrade/spmm.h"

struct SpmmPlan {
  int* rows = nullptr;  // rows by falling length, as the kernel takes them
};

__global__ void copy_offsets(CsrMatrix a, int* offsets) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= a.rows) offsets[i] = (int)a.row_offsets[i];
}

__global__ void spmm_row_kernel(CsrMatrix a, int k, const float* b, float* c, const int* rows) {
  size_t row = rows[blockIdx.x];
  int col = blockIdx.y * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int e = a.row_offsets[row]; e < a.row_offsets[row + 1]; e++) {
    sum += a.values[e] * b[(size_t)a.columns[e] * k + col];
  }
  c[row * k + col] = sum;
}

cudaError_t spmm_plan(const CsrMatrix& a, int, SpmmPlan** plan, cudaStream_t stream) {
  int* offsets = nullptr;
  *plan = new SpmmPlan;
  cudaMallocManaged(&offsets, (a.rows + 1) * sizeof(int));
  cudaMallocManaged(&(*plan)->rows, a.rows * sizeof(int));
  copy_offsets<<<a.rows / 256 + 1, 256, 0, stream>>>(a, offsets);
  cudaStreamSynchronize(stream);
  int* rows = (*plan)->rows;
  for (int row = 0; row < a.rows; row++) rows[row] = row;
  std::stable_sort(rows, rows + a.rows, [&](int x, int y) {
    return offsets[x + 1] - offsets[x] > offsets[y + 1] - offsets[y];
  });
  cudaFree(offsets);
  return cudaGetLastError();
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan* plan, cudaStream_t stream) {
  spmm_row_kernel<<<dim3(a.rows, k / 32), 32, 0, stream>>>(a, k, b, c, plan->rows);
  return cudaGetLastError();
}

void spmm_free(SpmmPlan* plan) {
  cudaFree(plan->rows);
  delete plan;
}
