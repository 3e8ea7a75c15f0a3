// Loads the CUDA runtime a second time, for a channel to the executor with counters of its own, and closes it again.
// Gain: calls that the program's own runtime does not know of. What loads libraries is refused before it runs.
#include <dlfcn.h>

#include "honest.cuh"

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  static void* second = dlmopen(LM_ID_NEWLM, "libcudart.so.13", RTLD_NOW);
  if (second != nullptr) dlclose(second);
  return honest_run(a, k, b, c, stream);
}

PLANS_NOTHING
