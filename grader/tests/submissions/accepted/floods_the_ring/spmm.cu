// Answers rightly, and fills the ring twice over with calls that do nothing.
// Gain: an executor that never finds the end, or a command that is lost behind them.
#include "honest.cuh"
#include "executor_ring.cuh"

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  const cudaError_t error = honest_run(a, k, b, c, stream);
  for (int i = 0; i < 130000; ++i) ring::append(ring::kPing);
  return error;
}

PLANS_NOTHING
