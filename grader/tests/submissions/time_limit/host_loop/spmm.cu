// The host never comes back from spmm_run.
#include "warpgrade/spmm.h"

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  (void)a, (void)k, (void)b, (void)c, (void)stream;
  volatile bool forever = true;
  while (forever) {
  }
  return cudaSuccess;
}

void spmm_free(SpmmPlan*) {}
