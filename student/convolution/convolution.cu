// Lab convolution: an image convolved with a small filter, fp32. Yours to fill.
//
// `make contract LAB=convolution` prints the contract in full. As they stand the functions compile, and
// say that they are not written yet: `make test` then skips the lab instead of failing it.
//
// Try it:  make test LAB=convolution
#include "warpgrade/convolution.h"

// Called many times, each time with other inputs. This is what is timed.
//   in      [ny, nx] fp32, device, read-only
//   filter  [2*radius + 1, 2*radius + 1] fp32, device, read-only
//   ny      int32, the same in all runs: rows of the image
//   nx      int32, the same in all runs: columns of the image
//   radius  int32, the same in all runs: the filter has 2 * radius + 1 rows and columns
//   out     [ny, nx] fp32, device: holds garbage on entry, so write every element: out[y][x] = sum over dy
//   and dx of filter[dy][dx] * in[y + dy - radius][x + dx - radius]; what lies outside the image counts as 0
// Launch on `stream`, and return cudaGetLastError() so that a launch that failed is seen.
cudaError_t convolution_run(const float* in, const float* filter, int ny, int nx, int radius, float* out,
                            cudaStream_t stream) {
  (void)in, (void)filter, (void)ny, (void)nx, (void)radius, (void)out, (void)stream;
  return cudaErrorNotSupported;
}
