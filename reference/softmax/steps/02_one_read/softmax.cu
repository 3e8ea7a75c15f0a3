// Softmax, step 2: largest number and sum in one read: when a larger number comes, the sum so far is scaled
// (M. Milakov, N. Gimelshein 2018).
//
// Cost  12·rows·cols bytes: two reads and a write.
#include "warpgrade/softmax.h"

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr unsigned kAll = 0xFFFFFFFFu;

struct State {
  float largest, sum;
};

__device__ State combine(State a, State b) {
  const float largest = fmaxf(a.largest, b.largest);
  if (largest == -INFINITY) return {largest, 0};
  return {largest, a.sum * expf(a.largest - largest) + b.sum * expf(b.largest - largest)};
}

__device__ State block_combine(State state) {
  __shared__ State of_warps[kWarps];
  for (int k = 16; k > 0; k /= 2)
    state = combine(state, {__shfl_xor_sync(kAll, state.largest, k), __shfl_xor_sync(kAll, state.sum, k)});
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = state;
  __syncthreads();
  state = of_warps[0];
  for (int w = 1; w < kWarps; ++w) state = combine(state, of_warps[w]);
  return state;
}

__global__ void __launch_bounds__(kThreads) softmax_kernel(const float* in, int cols, float* out) {
  const float* x = in + size_t(blockIdx.x) * cols;
  State state{-INFINITY, 0};
  for (int c = threadIdx.x; c < cols; c += kThreads) state = combine(state, {x[c], 1});
  state = block_combine(state);
  for (int c = threadIdx.x; c < cols; c += kThreads)
    out[size_t(blockIdx.x) * cols + c] = expf(x[c] - state.largest) / state.sum;
}

}  // namespace

cudaError_t softmax_run(const float* in, int rows, int cols, float* out, cudaStream_t stream) {
  softmax_kernel<<<rows, kThreads, 0, stream>>>(in, cols, out);
  return cudaGetLastError();
}
