// spmm_plan sorts by trial and error and never finishes.
#include "warpgrade/spmm.h"

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan**, cudaStream_t) {
  volatile int sorted = 0;
  while (sorted == 0) {
  }
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  (void)a, (void)k, (void)b, (void)c, (void)stream;
  return cudaSuccess;
}

void spmm_free(SpmmPlan*) {}
