// Asks whether its stream is idle before it launches anything: a question for which the gate has to open.
// Gain: a start that is stamped while host code still knows nothing, or an end that is stamped before the launch.
#include "honest.cuh"

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  for (int i = 0; i < 3; ++i) cudaStreamQuery(stream);
  cudaGetLastError();
  return honest_run(a, k, b, c, stream);
}

PLANS_NOTHING
