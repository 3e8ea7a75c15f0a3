// Lab matmul: C = A * B, dense, fp32. Yours to fill.
//
// `make contract LAB=matmul` prints the contract in full. As they stand the functions compile, and
// say that they are not written yet: `make test` then skips the lab instead of failing it.
//
// Try it:  make test LAB=matmul
#include "warpgrade/matmul.h"

// Called many times, each time with other inputs. This is what is timed.
//   a       [m, k] fp32, device, read-only: row-major
//   b       [k, n] fp32, device, read-only: row-major
//   m       int32, the same in all runs
//   n       int32, the same in all runs
//   k       int32, the same in all runs
//   c       [m, n] fp32, device: holds garbage on entry, so write every element: row-major: sums of k
//   products, in fp32 and no less
// Launch on `stream`, and return cudaGetLastError() so that a launch that failed is seen.
cudaError_t matmul_run(const float* a, const float* b, int m, int n, int k, float* c, cudaStream_t stream) {
  (void)a, (void)b, (void)m, (void)n, (void)k, (void)c, (void)stream;
  return cudaErrorNotSupported;
}
