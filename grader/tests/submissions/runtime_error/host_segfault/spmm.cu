// Host code follows a device pointer.
#include "warpgrade/spmm.h"

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  (void)a, (void)k, (void)stream;
  c[0] = b[0];
  *static_cast<volatile float*>(nullptr) = 1;  // where device memory happens to be visible
  return cudaSuccess;
}

void spmm_free(SpmmPlan*) {}
