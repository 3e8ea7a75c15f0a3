// Scan, naive: one thread adds up.
//
// Cost  count dependent additions.
#include "warpgrade/scan.h"

namespace {

__global__ void scan_one_thread_kernel(const int* in, int count, int* out) {
  int sum = 0;
  for (int i = 0; i < count; ++i) out[i] = sum += in[i];
}

}  // namespace

cudaError_t scan_plan(int, ScanPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t scan_run(const int* in, int count, int* out, ScanPlan*, cudaStream_t stream) {
  scan_one_thread_kernel<<<1, 1, 0, stream>>>(in, count, out);
  return cudaGetLastError();
}

void scan_free(ScanPlan*) {}
