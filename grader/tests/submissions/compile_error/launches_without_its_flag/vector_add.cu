// Wrong here: a kernel launches another one, and submission.yaml does not ask for -rdc=true.
#include "warpgrade/vector_add.h"

namespace {

__global__ void add(const float* a, const float* b, int n, float* c) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void launch(const float* a, const float* b, int n, float* c) {
  add<<<(n + 255) / 256, 256>>>(a, b, n, c);
}

}  // namespace

cudaError_t vector_add_run(const float* a, const float* b, int n, float* c, cudaStream_t stream) {
  launch<<<1, 1, 0, stream>>>(a, b, n, c);
  return cudaGetLastError();
}
