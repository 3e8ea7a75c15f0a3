// Lab softmax: softmax of each row, fp32. Yours to fill.
//
// `make contract LAB=softmax` prints the contract in full. As they stand the functions compile, and
// say that they are not written yet: `make test` then skips the lab instead of failing it.
//
// Try it:  make test LAB=softmax
#include "warpgrade/softmax.h"

// Called many times, each time with other inputs. This is what is timed.
//   in      [rows, cols] fp32, device, read-only: row-major
//   rows    int32, the same in all runs
//   cols    int32, the same in all runs
//   out     [rows, cols] fp32, device: holds garbage on entry, so write every element: exp(in[r,c]) / sum of
//   exp(in[r,...])
// Launch on `stream`, and return cudaGetLastError() so that a launch that failed is seen.
cudaError_t softmax_run(const float* in, int rows, int cols, float* out, cudaStream_t stream) {
  (void)in, (void)rows, (void)cols, (void)out, (void)stream;
  return cudaErrorNotSupported;
}
