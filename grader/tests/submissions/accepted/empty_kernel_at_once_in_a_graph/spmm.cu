// empty_kernel_at_once as a graph, whose edge is programmatic.
// Gain: the end of the empty kernel is taken for the graph's.
#include "tail.cuh"

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan* plan,
                     cudaStream_t stream) {
  return run_as_graph<tail::Trigger::kAtOnce, tail::Behind::kEmpty>(a, k, b, c, *plan, stream);
}
