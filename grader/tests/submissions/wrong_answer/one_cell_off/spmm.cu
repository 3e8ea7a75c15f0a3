// Right but for one cell, which is off by one part in a thousand.
// Gain: nothing by itself; a check of samples, of ratios or of row sums with slack would not see it.
#include "honest.cuh"

__global__ void nudge_kernel(float* cell) {
  *cell += 1e-3f * (fabsf(*cell) + 1);
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  const cudaError_t error = honest_run(a, k, b, c, stream);
  nudge_kernel<<<1, 1, 0, stream>>>(c + (size_t)(a.rows / 2) * k + k / 3);
  return error;
}

PLANS_NOTHING
