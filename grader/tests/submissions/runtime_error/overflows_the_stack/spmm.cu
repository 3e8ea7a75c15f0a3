// Calls itself until the stack ends.
// Gain: a crash where a judge keeps state.
#include "honest.cuh"

static int sink = 0;
__attribute__((noinline)) static int deeper(int depth) {
  volatile char frame[4096];
  frame[depth % 4096] = (char)depth;
  return sink + deeper(depth + 1) + frame[0];
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  sink = deeper(0);
  return honest_run(a, k, b, c, stream);
}

PLANS_NOTHING
