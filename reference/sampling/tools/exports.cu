// Compiled into each shared library that bench_sampling loads: the contract's functions, named for dlsym.
#include "warpgrade/sampling.h"

extern "C" cudaError_t bench_plan(const CsrGraph* graph, int count, int fanout, SamplingPlan** plan,
                                  cudaStream_t stream) {
  return sampling_plan(*graph, count, fanout, plan, stream);
}
extern "C" cudaError_t bench_run(const CsrGraph* graph, const int* nodes, int count, int fanout,
                                 std::uint64_t seed, int* samples, SamplingPlan* plan, cudaStream_t stream) {
  return sampling_run(*graph, nodes, count, fanout, seed, samples, plan, stream);
}
extern "C" void bench_free(SamplingPlan* plan) {
  sampling_free(plan);
}
