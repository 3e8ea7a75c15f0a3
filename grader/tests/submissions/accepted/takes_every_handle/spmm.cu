// Its plan makes streams and events until no more are given, and keeps them.
// Gain: an executor that has to join thousands of streams, or that has none left for itself.
#include "honest.cuh"

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  for (int i = 0; i < 100000 && cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess; ++i) {
  }
  for (int i = 0; i < 100000 && cudaEventCreate(&event) == cudaSuccess; ++i) {
  }
  cudaGetLastError();
  return cudaSuccess;
}
void spmm_free(SpmmPlan*) {}

ANSWERS_HONESTLY
