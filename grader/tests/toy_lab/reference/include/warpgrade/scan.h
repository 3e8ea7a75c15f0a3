// The contract of the lab `scan`: out[i] = in[0] + ... + in[i], in 32-bit integers.
//
// A submission defines the three functions below. The judge calls them in one process and on one stream:
// scan_plan once, scan_run many times with other numbers, scan_free once. An unwritten function returns
// cudaErrorNotSupported.
#pragma once

#include <cuda_runtime.h>

struct ScanPlan;  // yours

// Prepare for `count` numbers a run, count >= 1.
cudaError_t scan_plan(int count, ScanPlan** plan, cudaStream_t stream);

// Add up. in, out: [count], device; `out` holds garbage on entry. Sums stay below 2^31.
cudaError_t scan_run(const int* in, int count, int* out, ScanPlan* plan, cudaStream_t stream);

// Release what scan_plan made; plan may be nullptr.
void scan_free(ScanPlan* plan);
