// Right: the sum is a lambda of the device, for which nvcc wants --extended-lambda (submission.yaml).
#include "warpgrade/vector_add.h"

namespace {

template <class Function>
__global__ void for_each(int n, Function function) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) function(i);
}

}  // namespace

cudaError_t vector_add_run(const float* a, const float* b, int n, float* c, cudaStream_t stream) {
  for_each<<<64, 256, 0, stream>>>(n, [=] __device__(int i) { c[i] = a[i] + b[i]; });
  return cudaGetLastError();
}
