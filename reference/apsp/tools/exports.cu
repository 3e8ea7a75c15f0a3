// Compiled into each shared library that bench_apsp loads: the contract's functions, named for dlsym.
#include "warpgrade/apsp.h"

extern "C" cudaError_t bench_plan(int n, ApspPlan** plan, cudaStream_t stream) {
  return apsp_plan(n, plan, stream);
}
extern "C" cudaError_t bench_run(int n, int* graph, ApspPlan* plan, cudaStream_t stream) {
  return apsp_run(n, graph, plan, stream);
}
extern "C" void bench_free(ApspPlan* plan) {
  apsp_free(plan);
}
