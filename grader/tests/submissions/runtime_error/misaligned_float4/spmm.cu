// Reads four floats at once from an address that is only aligned for one.
#include "warpgrade/spmm.h"

__global__ void spmm_shifted_kernel(CsrMatrix a, int k, const float* b, float* c) {
  size_t row = blockIdx.x;
  int quad = threadIdx.x;
  float4 sum = make_float4(0, 0, 0, 0);
  for (int e = a.row_offsets[row]; e < a.row_offsets[row + 1]; e++) {
    const float* first = b + (size_t)a.columns[e] * k + quad * 4;
    float4 x = *reinterpret_cast<const float4*>(first + 1);  // the shift belongs nowhere
    sum.x += a.values[e] * x.x;
    sum.y += a.values[e] * x.y;
  }
  reinterpret_cast<float4*>(c)[row * (k / 4) + quad] = sum;
}

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  spmm_shifted_kernel<<<a.rows, k / 4, 0, stream>>>(a, k, b, c);
  return cudaGetLastError();
}

void spmm_free(SpmmPlan*) {}
