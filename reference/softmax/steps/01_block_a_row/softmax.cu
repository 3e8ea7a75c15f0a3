// Softmax, step 1: a block a row. Threads read neighbours, and reduce with shuffles.
//
// Cost  16·rows·cols bytes, of which the second and third read mostly hit the cache.
#include "warpgrade/softmax.h"

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr unsigned kAll = 0xFFFFFFFFu;

template <typename Combine>
__device__ float block_reduce(float value, float neutral, Combine combine) {
  __shared__ float of_warps[kWarps];
  for (int k = 16; k > 0; k /= 2) value = combine(value, __shfl_xor_sync(kAll, value, k));
  __syncthreads();  // what the call before left there has been read
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = neutral;
  for (int w = 0; w < kWarps; ++w) value = combine(value, of_warps[w]);
  return value;
}

__global__ void __launch_bounds__(kThreads) softmax_kernel(const float* in, int cols, float* out) {
  const float* x = in + size_t(blockIdx.x) * cols;
  float largest = -INFINITY, sum = 0;
  for (int c = threadIdx.x; c < cols; c += kThreads) largest = fmaxf(largest, x[c]);
  largest = block_reduce(largest, -INFINITY, [](float a, float b) { return fmaxf(a, b); });
  for (int c = threadIdx.x; c < cols; c += kThreads) sum += expf(x[c] - largest);
  sum = block_reduce(sum, 0, [](float a, float b) { return a + b; });
  for (int c = threadIdx.x; c < cols; c += kThreads)
    out[size_t(blockIdx.x) * cols + c] = expf(x[c] - largest) / sum;
}

}  // namespace

cudaError_t softmax_run(const float* in, int rows, int cols, float* out, cudaStream_t stream) {
  softmax_kernel<<<rows, kThreads, 0, stream>>>(in, cols, out);
  return cudaGetLastError();
}
