// Softmax of CUB's parts: a block a row with cub::BlockReduce. The baseline: no library of the toolkit has
// a softmax.
#include <cub/block/block_reduce.cuh>

#include "warpgrade/softmax.h"

namespace {

constexpr int kThreads = 256;
using Reduce = cub::BlockReduce<float, kThreads>;

struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

__global__ void __launch_bounds__(kThreads) softmax_kernel(const float* in, int cols, float* out) {
  __shared__ typename Reduce::TempStorage scratch;
  __shared__ float shared_largest, shared_sum;
  const float* x = in + size_t(blockIdx.x) * cols;
  float largest = -INFINITY, sum = 0;
  for (int c = threadIdx.x; c < cols; c += kThreads) largest = fmaxf(largest, x[c]);
  largest = Reduce(scratch).Reduce(largest, Larger());
  if (threadIdx.x == 0) shared_largest = largest;
  __syncthreads();
  for (int c = threadIdx.x; c < cols; c += kThreads) sum += __expf(x[c] - shared_largest);
  sum = Reduce(scratch).Sum(sum);
  if (threadIdx.x == 0) shared_sum = sum;
  __syncthreads();
  for (int c = threadIdx.x; c < cols; c += kThreads)
    out[size_t(blockIdx.x) * cols + c] = __expf(x[c] - shared_largest) / shared_sum;
}

}  // namespace

cudaError_t softmax_run(const float* in, int rows, int cols, float* out, cudaStream_t stream) {
  softmax_kernel<<<rows, kThreads, 0, stream>>>(in, cols, out);
  return cudaGetLastError();
}
