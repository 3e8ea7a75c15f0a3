// nothing_behind as a graph.
// Gain: none. It is a twin.
#include "tail.cuh"

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan* plan,
                     cudaStream_t stream) {
  return run_as_graph<tail::Trigger::kNone, tail::Behind::kNothing>(a, k, b, c, *plan, stream);
}
