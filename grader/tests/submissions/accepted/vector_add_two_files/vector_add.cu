// Right: the sum and a variable are another file's, which the device's linker joins (submission.yaml).
#include "sum.cuh"
#include "warpgrade/vector_add.h"

namespace {

__device__ int offset = 1;

__global__ void add(const float* a, const float* b, int n, float* c) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = sum(same(a[i]), b[i]) + (offset - 1);
}

__global__ void check(int n, int before, float* c) {
  if (called != before + n) c[0] = -1;  // the host and both files see one variable
}

}  // namespace

cudaError_t vector_add_run(const float* a, const float* b, int n, float* c, cudaStream_t stream) {
  int before = 0;
  cudaMemcpyFromSymbolAsync(&before, called, sizeof before, 0, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, n, c);
  check<<<1, 1, 0, stream>>>(n, before, c);
  return cudaGetLastError();
}
