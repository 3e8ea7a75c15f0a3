// One grid asks for 200,000 children with arguments of 3,584 bytes each, far more than may wait, and looks at no
// error. Gain: memory of the device's runtime or of the judge's, beyond its limit.
#include "honest.cuh"

struct Large {
  int4 words[224];
};

static __global__ void waits(__grid_constant__ const Large) {}

static __global__ void park(int launches) {
  for (int n = blockIdx.x * blockDim.x + threadIdx.x; n < launches; n += gridDim.x * blockDim.x)
    waits<<<1, 1>>>(Large());
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  park<<<64, 256, 0, stream>>>(200'000);
  return honest_run(a, k, b, c, stream);
}

PLANS_NOTHING
