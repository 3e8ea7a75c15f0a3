// Lab sort: unsigned 32-bit keys sorted, ascending. Yours to fill.
//
// `make contract LAB=sort` prints the contract in full. As they stand the functions compile, and
// say that they are not written yet: `make test` then skips the lab instead of failing it.
//
// Try it:  make test LAB=sort
#include "warpgrade/sort.h"

// What you want to keep between sort_plan and sort_run. Leave it empty when you need nothing.
struct SortPlan {};

// Prepare.
cudaError_t sort_plan(int n, SortPlan** plan, cudaStream_t stream) {
  (void)n, (void)stream;
  *plan = nullptr;
  return cudaErrorNotSupported;  // becomes cudaSuccess when you have written it
}

// Called many times, each time with other inputs. This is what is timed.
//   keys    [n] uint32, device, read-only
//   n       int32, the same in all runs
//   sorted  [n] uint32, device: holds garbage on entry, so write every element
// Launch on `stream`, and return cudaGetLastError() so that a launch that failed is seen.
cudaError_t sort_run(const unsigned* keys, int n, unsigned* sorted, SortPlan* plan, cudaStream_t stream) {
  (void)keys, (void)n, (void)sorted, (void)plan, (void)stream;
  return cudaErrorNotSupported;
}

// Release what sort_plan made. plan may be nullptr.
void sort_free(SortPlan* plan) {
  delete plan;
}
