// Writes behind C and puts back what stood there, so that guard bytes show nothing.
// Gain: scratch memory that is not its own, and a way to change what lies behind. On a GPU the guard is whole
// again: nothing is gained.
#include "honest.cuh"

__global__ void borrow_kernel(float* c, size_t cells) {
  const float kept = c[cells + threadIdx.x];
  c[cells + threadIdx.x] = 1;
  __syncthreads();
  c[cells + threadIdx.x] = kept;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  const cudaError_t error = honest_run(a, k, b, c, stream);
  borrow_kernel<<<1, 32, 0, stream>>>(c, (size_t)a.rows * k);
  return error;
}

PLANS_NOTHING
