// Gives the right answer and then traps: the error stays in the context for whoever asks next.
// Gain: a fault that shows in somebody else's call.
#include "honest.cuh"

__global__ void trap_kernel() {
  asm volatile("trap;");
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  const cudaError_t error = honest_run(a, k, b, c, stream);
  trap_kernel<<<1, 1, 0, stream>>>();
  return error;
}

PLANS_NOTHING
