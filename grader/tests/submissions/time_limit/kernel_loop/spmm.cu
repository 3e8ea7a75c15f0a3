// A kernel that waits for a flag that nobody sets.
#include "warpgrade/spmm.h"

__global__ void wait_kernel(volatile float* c) {
  while (c[0] != 12345.0f) {
  }
}

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  (void)a, (void)k, (void)b;
  wait_kernel<<<1, 1, 0, stream>>>(c);
  return cudaGetLastError();
}

void spmm_free(SpmmPlan*) {}
