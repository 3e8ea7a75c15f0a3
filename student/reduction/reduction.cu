// Lab reduction: the sums of two vectors, fp32 and integer. Yours to fill.
//
// `make contract LAB=reduction` prints the contract in full. As they stand the functions compile, and
// say that they are not written yet: `make test` then skips the lab instead of failing it.
//
// Try it:  make test LAB=reduction
#include "warpgrade/reduction.h"

// What you want to keep between reduction_plan and reduction_run. Leave it empty when you need nothing.
struct ReductionPlan {};

// Prepare.
cudaError_t reduction_plan(int n, ReductionPlan** plan, cudaStream_t stream) {
  (void)n, (void)stream;
  *plan = nullptr;
  return cudaErrorNotSupported;  // becomes cudaSuccess when you have written it
}

// Called many times, each time with other inputs. This is what is timed.
//   x       [n] fp32, device, read-only
//   y       [n] int32, device, read-only
//   n       int32, the same in all runs
//   sum     [1] fp32, device: holds garbage on entry, so write every element: x[0] + ... + x[n-1], within the
//   rounding errors of sums in fp32; exactly, if all x are whole numbers
//   total   [1] int64, device: holds garbage on entry, so write every element: y[0] + ... + y[n-1], exactly
// Launch on `stream`, and return cudaGetLastError() so that a launch that failed is seen.
cudaError_t reduction_run(const float* x, const int* y, int n, float* sum, long long* total,
                          ReductionPlan* plan, cudaStream_t stream) {
  (void)x, (void)y, (void)n, (void)sum, (void)total, (void)plan, (void)stream;
  return cudaErrorNotSupported;
}

// Release what reduction_plan made. plan may be nullptr.
void reduction_free(ReductionPlan* plan) {
  delete plan;
}
