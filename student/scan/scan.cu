// Lab scan: running sums of integers. Yours to fill.
//
// `make contract LAB=scan` prints the contract in full. As they stand the functions compile, and
// say that they are not written yet: `make test` then skips the lab instead of failing it.
//
// Try it:  make test LAB=scan
#include "warpgrade/scan.h"

// What you want to keep between scan_plan and scan_run. Leave it empty when you need nothing.
struct ScanPlan {};

// Prepare.
cudaError_t scan_plan(int n, ScanPlan** plan, cudaStream_t stream) {
  (void)n, (void)stream;
  *plan = nullptr;
  return cudaErrorNotSupported;  // becomes cudaSuccess when you have written it
}

// Called many times, each time with other inputs. This is what is timed.
//   in      [n] int32, device, read-only: sums stay below 2^31
//   n       int32, the same in all runs
//   out     [n] int32, device: holds garbage on entry, so write every element: out[i] = in[0] + ... + in[i]
// Launch on `stream`, and return cudaGetLastError() so that a launch that failed is seen.
cudaError_t scan_run(const int* in, int n, int* out, ScanPlan* plan, cudaStream_t stream) {
  (void)in, (void)n, (void)out, (void)plan, (void)stream;
  return cudaErrorNotSupported;
}

// Release what scan_plan made. plan may be nullptr.
void scan_free(ScanPlan* plan) {
  delete plan;
}
