// Lab histogram: how often is each group of 40 nodes sampled? Yours to fill.
//
//   counts[b] = number of ids with id / 40 == b        b < histogram_bins(nodes)
//
// The three functions below are the contract; reference/include/warpgrade/histogram.h states it in full.
// As they stand they compile, and say that they are not written yet: `make test` then skips the lab
// instead of failing it.
//
// Try it:  make test LAB=histogram                         all public cases
//          make test LAB=histogram CASE=last-bin-small     one of them
#include "warpgrade/histogram.h"

// What you want to keep between histogram_plan and histogram_run. Leave it empty when you need nothing.
struct HistogramPlan {};

// Prepare. Called once; it sees no ids.
//   count  ids of each run
//   nodes  ids are in [0, nodes)
//   plan   out: what histogram_run and histogram_free will be given, or nullptr
cudaError_t histogram_plan(int count, int nodes, HistogramPlan** plan, cudaStream_t stream) {
  (void)count, (void)nodes, (void)stream;
  *plan = nullptr;
  return cudaErrorNotSupported;  // becomes cudaSuccess when you have written it
}

// Count. Called many times, each time with other ids. This is what is timed.
//   ids     [count], device
//   counts  [histogram_bins(nodes)], device: holds garbage, so write every cell, of bins without ids too
// Launch on `stream`, and return cudaGetLastError() so that a launch that failed is seen.
cudaError_t histogram_run(const int* ids, int count, int nodes, unsigned* counts, HistogramPlan* plan,
                          cudaStream_t stream) {
  (void)ids, (void)count, (void)nodes, (void)counts, (void)plan, (void)stream;
  return cudaErrorNotSupported;
}

// Release what histogram_plan made. plan may be nullptr.
void histogram_free(HistogramPlan* plan) {
  delete plan;
}
