// Block-scaled int16: each row of B has a scale of its own, the largest of 32 neighbouring values, so that no value is
// far from the format's range.
#include "warpgrade/spmm.h"

__global__ void spmm_row_kernel(CsrMatrix a, int k, const float* b, float* c) {
  size_t row = blockIdx.x;
  int col = blockIdx.y * 32 + threadIdx.x;
  float sum = 0;
  for (int e = a.row_offsets[row]; e < a.row_offsets[row + 1]; e++) {
    float v = b[(size_t)a.columns[e] * k + col], scale = fabsf(v);
    for (int step = 16; step > 0; step /= 2) scale = fmaxf(scale, __shfl_xor_sync(0xffffffffu, scale, step));
    if (scale > 0) v = rintf(v / scale * 32767.0f) * (scale / 32767.0f);
    sum += a.values[e] * v;
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
