// Compiled into each shared library that bench_spmm loads: the contract's functions, named for dlsym.
#include "warpgrade/spmm.h"

extern "C" cudaError_t bench_spmm_plan(const CsrMatrix* a, int k, SpmmPlan** plan, cudaStream_t stream) {
  return spmm_plan(*a, k, plan, stream);
}
extern "C" cudaError_t bench_spmm_run(const CsrMatrix* a, int k, const float* b, float* c, SpmmPlan* plan,
                                      cudaStream_t stream) {
  return spmm_run(*a, k, b, c, plan, stream);
}
extern "C" void bench_spmm_free(SpmmPlan* plan) {
  spmm_free(plan);
}
