// Vector add, step 1: as many blocks as the GPU holds at once, each thread adds several elements.
//
// Cost  12·n bytes; the launch has a fixed size, however long the vectors are.
#include "warpgrade/vector_add.h"

namespace {

constexpr int kThreads = 256, kMostBlocks = 132 * 8;

__global__ void vector_add_kernel(const float* a, const float* b, int n, float* c) {
  for (long long i = blockIdx.x * kThreads + threadIdx.x; i < n; i += gridDim.x * kThreads)
    c[i] = a[i] + b[i];
}

}  // namespace

cudaError_t vector_add_run(const float* a, const float* b, int n, float* c, cudaStream_t stream) {
  const int blocks = min((n + kThreads - 1) / kThreads, kMostBlocks);
  vector_add_kernel<<<blocks, kThreads, 0, stream>>>(a, b, n, c);
  return cudaGetLastError();
}
