// Softmax, optimized: a row is read once and stays in registers. Rows of up to 1024 numbers belong to a warp,
// longer ones of up to 8192 to a block; what is longer still is read twice, as in step 2.
//
// Cost  8·rows·cols bytes: one read, one write, 16 bytes a load where rows begin at multiples of that.
#include "warpgrade/softmax.h"

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr unsigned kAll = 0xFFFFFFFFu;

struct Max {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Add {
  __device__ float operator()(float a, float b) const { return a + b; }
};

// Over a group of kGroup threads: a part of a warp, or the block.
template <int kGroup, typename Combine>
__device__ float reduce(float value, Combine combine) {
#pragma unroll
  for (int k = (kGroup < 32 ? kGroup : 32) / 2; k > 0; k /= 2)
    value = combine(value, __shfl_xor_sync(kAll, value, k));
  if constexpr (kGroup > 32) {
    __shared__ float of_warps[kWarps];
    __syncthreads();  // what the call before left there has been read
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = of_warps[0];
#pragma unroll
    for (int w = 1; w < kWarps; ++w) value = combine(value, of_warps[w]);
  }
  return value;
}

// A row in the registers of kGroup threads, kVectors runs of four numbers each; -inf behind its end.
template <int kGroup, int kVectors>
__global__ void __launch_bounds__(kThreads) softmax_kernel(const float* in, int rows, int cols, float* out) {
  const int row = int((blockIdx.x * size_t(kThreads) + threadIdx.x) / kGroup), lane = threadIdx.x % kGroup;
  const bool has_row = row < rows, whole = cols % 4 == 0;
  const float* x = in + size_t(row) * cols;
  alignas(16) float values[kVectors][4];
  float largest = -INFINITY, sum = 0;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int c = (v * kGroup + lane) * 4;
    if (has_row && whole && c < cols) {
      *reinterpret_cast<float4*>(values[v]) = __ldcs(reinterpret_cast<const float4*>(x + c));
    } else {
#pragma unroll
      for (int k = 0; k < 4; ++k) values[v][k] = has_row && c + k < cols ? x[c + k] : -INFINITY;
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) largest = fmaxf(largest, values[v][k]);
  }
  largest = reduce<kGroup>(largest, Max());
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
#pragma unroll
    for (int k = 0; k < 4; ++k) sum += values[v][k] = __expf(values[v][k] - largest);
  }
  const float share = 1 / reduce<kGroup>(sum, Add());
  if (!has_row) return;
  float* y = out + size_t(row) * cols;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int c = (v * kGroup + lane) * 4;
#pragma unroll
    for (int k = 0; k < 4; ++k) values[v][k] *= share;
    if (whole && c < cols) {
      __stcs(reinterpret_cast<float4*>(y + c), *reinterpret_cast<const float4*>(values[v]));
    } else {
#pragma unroll
      for (int k = 0; k < 4; ++k)
        if (c + k < cols) y[c + k] = values[v][k];
    }
  }
}

// Rows that no block's registers hold: read for the maximum, for the sum, and for the result.
__global__ void __launch_bounds__(kThreads) softmax_long_kernel(const float* in, int cols, float* out) {
  const float* x = in + size_t(blockIdx.x) * cols;
  float largest = -INFINITY, sum = 0;
  for (int c = threadIdx.x; c < cols; c += kThreads) largest = fmaxf(largest, x[c]);
  largest = reduce<kThreads>(largest, Max());
  for (int c = threadIdx.x; c < cols; c += kThreads) sum += __expf(x[c] - largest);
  const float share = 1 / reduce<kThreads>(sum, Add());
  for (int c = threadIdx.x; c < cols; c += kThreads)
    out[size_t(blockIdx.x) * cols + c] = __expf(x[c] - largest) * share;
}

template <int kGroup, int kVectors>
void launch(const float* in, int rows, int cols, float* out, cudaStream_t stream) {
  const int rows_a_block = kThreads / kGroup;
  softmax_kernel<kGroup, kVectors>
      <<<(rows + rows_a_block - 1) / rows_a_block, kThreads, 0, stream>>>(in, rows, cols, out);
}

}  // namespace

cudaError_t softmax_run(const float* in, int rows, int cols, float* out, cudaStream_t stream) {
  if (cols <= 32)
    launch<8, 1>(in, rows, cols, out, stream);
  else if (cols <= 256)
    launch<32, 2>(in, rows, cols, out, stream);
  else if (cols <= 1024)
    launch<32, 8>(in, rows, cols, out, stream);
  else if (cols <= 4096)
    launch<kThreads, 4>(in, rows, cols, out, stream);
  else if (cols <= 8192)
    launch<kThreads, 8>(in, rows, cols, out, stream);
  else
    softmax_long_kernel<<<rows, kThreads, 0, stream>>>(in, cols, out);
  return cudaGetLastError();
}
