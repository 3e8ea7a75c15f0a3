// Lab stencil: one step of a seven-point stencil in three dimensions, fp32. Yours to fill.
//
// `make contract LAB=stencil` prints the contract in full. As they stand the functions compile, and
// say that they are not written yet: `make test` then skips the lab instead of failing it.
//
// Try it:  make test LAB=stencil
#include "warpgrade/stencil.h"

// Called many times, each time with other inputs. This is what is timed.
//   in      [nz, ny, nx] fp32, device, read-only
//   nz      int32, the same in all runs
//   ny      int32, the same in all runs
//   nx      int32, the same in all runs
//   centre  fp32, another one in each run
//   side    fp32, another one in each run
//   out     [nz, ny, nx] fp32, device: holds garbage on entry, so write every element: centre * in + side *
//   (sum of the six neighbours); cells at a face of the box are copied
// Launch on `stream`, and return cudaGetLastError() so that a launch that failed is seen.
cudaError_t stencil_run(const float* in, int nz, int ny, int nx, float centre, float side, float* out,
                        cudaStream_t stream) {
  (void)in, (void)nz, (void)ny, (void)nx, (void)centre, (void)side, (void)out, (void)stream;
  return cudaErrorNotSupported;
}
