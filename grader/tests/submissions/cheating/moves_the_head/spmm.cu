// Answers rightly. Moves the ring's head far beyond what was written.
// Gain: an executor that reads past the ring's end.
#include "honest.cuh"
#include "executor_ring.cuh"

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  const cudaError_t error = honest_run(a, k, b, c, stream);
  ring::control().head.fetch_add(uint64_t{1} << 40);
  return error;
}

PLANS_NOTHING
