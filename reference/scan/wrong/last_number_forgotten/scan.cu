// Wrong: the last number is never added up when there are several.
#include "warpgrade/scan.h"

namespace {

__global__ void scan_one_thread_kernel(const int* in, int n, int* out) {
  int sum = 0;
  for (int i = 0; i < n; ++i) out[i] = sum += i + 1 < n || n == 1 ? in[i] : 0;
}

}  // namespace

struct ScanPlan {};

cudaError_t scan_plan(int, ScanPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t scan_run(const int* in, int n, int* out, ScanPlan*, cudaStream_t stream) {
  scan_one_thread_kernel<<<1, 1, 0, stream>>>(in, n, out);
  return cudaGetLastError();
}

void scan_free(ScanPlan*) {}
