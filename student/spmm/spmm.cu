// Lab spmm: C = A * B with A sparse (CSR), B and C dense, fp32, row-major. Yours to fill.
//
//   C[m, k] = A[m, n] * B[n, k]        m = a.rows, n = a.cols
//
// The three functions below are the contract; reference/include/warpgrade/spmm.h states it in full. As
// they stand they compile, and say that they are not written yet: `make test` then skips the lab instead
// of failing it.
//
// Try it:  make test LAB=spmm                      all public cases
//          make test LAB=spmm CASE=synth-hub-k32   one of them
#include "warpgrade/spmm.h"

// What you want to keep between spmm_plan and spmm_run: launch shapes, row lists, device memory of your own.
// Leave it empty when you need nothing.
struct SpmmPlan {};

// Look at A and prepare. Called once for a matrix; it may take a while, and it never sees B.
//   a     the matrix: a.row_offsets, a.columns and a.values are device memory, and read-only
//   k     columns of B and C, a multiple of 32
//   plan  out: what spmm_run and spmm_free will be given, or nullptr
cudaError_t spmm_plan(const CsrMatrix& a, int k, SpmmPlan** plan, cudaStream_t stream) {
  (void)a, (void)k, (void)stream;
  *plan = nullptr;
  return cudaErrorNotSupported;  // becomes cudaSuccess when you have written it
}

// Compute C = A * B. Called many times, each time with other contents of B. This is what is timed.
//   b  [a.cols, k] row-major, device: element (i, j) is b[i * k + j]
//   c  [a.rows, k] row-major, device: holds garbage, so write every cell, rows without entries too
// Launch on `stream`, and return cudaGetLastError() so that a launch that failed is seen.
cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan* plan,
                     cudaStream_t stream) {
  (void)a, (void)k, (void)b, (void)c, (void)plan, (void)stream;
  return cudaErrorNotSupported;
}

// Release what spmm_plan made. plan may be nullptr.
void spmm_free(SpmmPlan* plan) {
  delete plan;
}
