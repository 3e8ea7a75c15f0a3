// Takes host memory for as long as there is some.
#include <cstdlib>
#include <cstring>

#include "warpgrade/spmm.h"

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  (void)a, (void)k, (void)b, (void)c, (void)stream;
  for (;;) {
    void* block = malloc(1 << 24);
    if (block != nullptr) memset(block, 1, 1 << 24);
  }
}

void spmm_free(SpmmPlan*) {}
