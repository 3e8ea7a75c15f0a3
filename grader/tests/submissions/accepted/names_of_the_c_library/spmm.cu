// Global variables whose names the C library has as functions: C++ keeps such names as they are written.
#include "warpgrade/spmm.h"

int send = 32, link = 0, step = 1;
float advance[4] = {0, 0, 0, 0};
double bind = 0;

__global__ void spmm_row_kernel(CsrMatrix a, int k, const float* b, float* c) {
  size_t row = blockIdx.x;
  int col = blockIdx.y * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int e = a.row_offsets[row]; e < a.row_offsets[row + 1]; e++) {
    sum += a.values[e] * b[(size_t)a.columns[e] * k + col];
  }
  c[row * k + col] = sum;
}

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  link += step;
  bind += advance[0];
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  spmm_row_kernel<<<dim3(a.rows, k / send), send, 0, stream>>>(a, k, b, c);
  return cudaGetLastError();
}

void spmm_free(SpmmPlan*) {}
