// Lab apsp: the lengths of the shortest paths between all pairs of nodes, int32, in place. Yours to fill.
//
//   graph[i * n + j] = min over k of graph[i * n + k] + graph[k * n + j], until nothing changes
//
// The three functions below are the contract; reference/include/warpgrade/apsp.h states it in full. As
// they stand they compile, and say that they are not written yet: `make test` then skips the lab instead
// of failing it.
//
// Try it:  make test LAB=apsp                     all public cases
//          make test LAB=apsp CASE=complete-100   one of them
#include "warpgrade/apsp.h"

// What you want to keep between apsp_plan and apsp_run. Leave it empty when you need nothing.
struct ApspPlan {};

// Prepare. Called once for a size; it never sees a graph.
//   n     nodes
//   plan  out: what apsp_run and apsp_free will be given, or nullptr
cudaError_t apsp_plan(int n, ApspPlan** plan, cudaStream_t stream) {
  (void)n, (void)stream;
  *plan = nullptr;
  return cudaErrorNotSupported;  // becomes cudaSuccess when you have written it
}

// Solve. Called many times, each time with another graph. This is what is timed.
//   graph  [n, n] row-major, device: edges on entry, distances on return
// Launch on `stream`, and return cudaGetLastError() so that a launch that failed is seen.
cudaError_t apsp_run(int n, int* graph, ApspPlan* plan, cudaStream_t stream) {
  (void)n, (void)graph, (void)plan, (void)stream;
  return cudaErrorNotSupported;
}

// Release what apsp_plan made. plan may be nullptr.
void apsp_free(ApspPlan* plan) {
  delete plan;
}
