// Compiled into each shared library that bench_histogram loads: the contract's functions, named for dlsym.
#include "warpgrade/histogram.h"

extern "C" cudaError_t bench_plan(int count, int nodes, HistogramPlan** plan, cudaStream_t stream) {
  return histogram_plan(count, nodes, plan, stream);
}
extern "C" cudaError_t bench_run(const int* ids, int count, int nodes, unsigned* counts, HistogramPlan* plan,
                                 cudaStream_t stream) {
  return histogram_run(ids, count, nodes, counts, plan, stream);
}
extern "C" void bench_free(HistogramPlan* plan) {
  histogram_free(plan);
}
