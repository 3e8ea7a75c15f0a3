// Allocates device memory until it is refused and hands the refusal on.
#include "warpgrade/spmm.h"

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  (void)a, (void)k, (void)b, (void)c, (void)stream;
  for (;;) {
    void* block = nullptr;
    cudaError_t error = cudaMalloc(&block, (size_t)1 << 30);
    if (error != cudaSuccess) return error;
  }
}

void spmm_free(SpmmPlan*) {}
