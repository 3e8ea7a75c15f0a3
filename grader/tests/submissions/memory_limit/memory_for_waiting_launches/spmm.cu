// Asks for room for a million launches of kernels that wait, and hands the refusal on. Gain: device memory beyond its
// limit, which is the driver's and no allocation of its own.
#include "honest.cuh"

static __global__ void parent(CsrMatrix a, int k, const float* b, float* c) {
  honest_kernel<<<dim3(a.rows, k / 32), 32>>>(a, k, b, c);
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  const cudaError_t error = cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 1 << 20);
  if (error != cudaSuccess) return error;
  parent<<<1, 1, 0, stream>>>(a, k, b, c);
  return cudaGetLastError();
}

PLANS_NOTHING
