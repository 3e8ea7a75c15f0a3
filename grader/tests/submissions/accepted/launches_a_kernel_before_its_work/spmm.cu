// The twin of those whose kernels launch the work: the host launches both, one behind the other. Gain: none.
#include "honest.cuh"

static __global__ void nothing() {}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  nothing<<<1, 1, 0, stream>>>();
  return honest_run(a, k, b, c, stream);
}

PLANS_NOTHING
