// A kernel that launches itself as its tail, without end: no grid runs long. Gain: a GPU that is never idle again.
#include "honest.cuh"

static __global__ void again(int* turns) {
  ++*turns;
  again<<<1, 1, 0, cudaStreamTailLaunch>>>(turns);
}

cudaError_t spmm_run(const CsrMatrix&, int, const float*, float* c, SpmmPlan*, cudaStream_t stream) {
  again<<<1, 1, 0, stream>>>(reinterpret_cast<int*>(c));
  return cudaGetLastError();
}

PLANS_NOTHING
