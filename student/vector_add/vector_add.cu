// Lab vector_add: two vectors added. Yours to fill.
//
// `make contract LAB=vector_add` prints the contract in full. As they stand the functions compile, and
// say that they are not written yet: `make test` then skips the lab instead of failing it.
//
// Try it:  make test LAB=vector_add
#include "warpgrade/vector_add.h"

// Called many times, each time with other inputs. This is what is timed.
//   a       [n] fp32, device, read-only
//   b       [n] fp32, device, read-only
//   n       int32, the same in all runs
//   c       [n] fp32, device: holds garbage on entry, so write every element: c[i] = a[i] + b[i]
// Launch on `stream`, and return cudaGetLastError() so that a launch that failed is seen.
cudaError_t vector_add_run(const float* a, const float* b, int n, float* c, cudaStream_t stream) {
  (void)a, (void)b, (void)n, (void)c, (void)stream;
  return cudaErrorNotSupported;
}
