// Lab sampling: draw neighbours of nodes of a graph, with replacement. Yours to fill.
//
//   samples[i, j] = a neighbour of nodes[i], each equally likely        i < count, j < fanout
//
// The three functions below are the contract; reference/include/warpgrade/sampling.h states it in full. As
// they stand they compile, and say that they are not written yet: `make test` then skips the lab instead
// of failing it.
//
// Try it:  make test LAB=sampling                            all public cases
//          make test LAB=sampling CASE=synth-hub-100x4       one of them
#include "warpgrade/philox.h"  // a counter-based generator: use it, or write your own
#include "warpgrade/sampling.h"

// What you want to keep between sampling_plan and sampling_run. Leave it empty when you need nothing.
struct SamplingPlan {};

// Look at the graph and prepare. Called once; it sees neither nodes nor the generator's seed.
//   graph   graph.row_offsets and graph.columns are device memory, and read-only
//   count   nodes of each run
//   fanout  draws a node
//   plan    out: what sampling_run and sampling_free will be given, or nullptr
cudaError_t sampling_plan(const CsrGraph& graph, int count, int fanout, SamplingPlan** plan,
                          cudaStream_t stream) {
  (void)graph, (void)count, (void)fanout, (void)stream;
  *plan = nullptr;
  return cudaErrorNotSupported;  // becomes cudaSuccess when you have written it
}

// Draw. Called many times, each time with another seed. This is what is timed.
//   nodes    [count], device: the nodes to draw for; they may repeat
//   seed     of the generator: the same seed must give the same samples, any other one others
//   samples  [count, fanout] row-major, device: holds garbage, so write every cell; kNoNeighbour for a node
//            without neighbours
// Launch on `stream`, and return cudaGetLastError() so that a launch that failed is seen.
cudaError_t sampling_run(const CsrGraph& graph, const int* nodes, int count, int fanout, std::uint64_t seed,
                         int* samples, SamplingPlan* plan, cudaStream_t stream) {
  (void)graph, (void)nodes, (void)count, (void)fanout, (void)seed, (void)samples, (void)plan, (void)stream;
  return cudaErrorNotSupported;
}

// Release what sampling_plan made. plan may be nullptr.
void sampling_free(SamplingPlan* plan) {
  delete plan;
}
