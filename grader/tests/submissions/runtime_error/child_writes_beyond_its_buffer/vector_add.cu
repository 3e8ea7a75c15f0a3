// Wrong here: the child that a kernel launches has no guard, and its last threads write beyond c.
#include "warpgrade/vector_add.h"

namespace {

__global__ void add(const float* a, const float* b, int n, float* c) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  c[i] = (i < n ? a[i] + b[i] : 0);  // line 8
}

__global__ void launch(const float* a, const float* b, int n, float* c) {
  add<<<(n + 255) / 256 + 4096, 256>>>(a, b, n, c);
}

}  // namespace

cudaError_t vector_add_run(const float* a, const float* b, int n, float* c, cudaStream_t stream) {
  launch<<<1, 1, 0, stream>>>(a, b, n, c);
  return cudaGetLastError();
}
