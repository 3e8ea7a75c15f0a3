// Right: kernels launch the work: in the parent's stream, as a child that nobody waits for, and as a tail, which
// begins when all others have ended.
#include "warpgrade/vector_add.h"

namespace {

__global__ void add(const float* a, const float* b, int begin, int end, float* c) {
  const int i = begin + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < end) c[i] = a[i] + b[i];
}

__global__ void negate(int n, float* c) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = -c[i];
}

__global__ void add_parts(const float* a, const float* b, int n, float* c) {
  const int part = (n + 2) / 3, blocks = (part + 255) / 256;
  add<<<blocks, 256>>>(a, b, 0, part, c);
  add<<<blocks, 256, 0, cudaStreamFireAndForget>>>(a, b, part, min(2 * part, n), c);
  negate<<<(n + 255) / 256, 256, 0, cudaStreamTailLaunch>>>(n, c);
  negate<<<(n + 255) / 256, 256, 0, cudaStreamTailLaunch>>>(n, c);
  add<<<blocks, 256>>>(a, b, min(2 * part, n), n, c);
}

__global__ void begin(const float* a, const float* b, int n, float* c) {
  add_parts<<<1, 1>>>(a, b, n, c);
}

}  // namespace

cudaError_t vector_add_run(const float* a, const float* b, int n, float* c, cudaStream_t stream) {
  begin<<<1, 1, 0, stream>>>(a, b, n, c);
  return cudaGetLastError();
}
