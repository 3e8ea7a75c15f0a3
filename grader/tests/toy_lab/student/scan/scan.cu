// Lab scan: running sums. Yours to fill; reference/include/warpgrade/scan.h states the contract.
//
// Try it:  make test LAB=scan
#include "warpgrade/scan.h"

struct ScanPlan {};

cudaError_t scan_plan(int count, ScanPlan** plan, cudaStream_t stream) {
  (void)count, (void)stream;
  *plan = nullptr;
  return cudaErrorNotSupported;  // becomes cudaSuccess when you have written it
}

cudaError_t scan_run(const int* in, int count, int* out, ScanPlan* plan, cudaStream_t stream) {
  (void)in, (void)count, (void)out, (void)plan, (void)stream;
  return cudaErrorNotSupported;
}

void scan_free(ScanPlan* plan) {
  delete plan;
}
