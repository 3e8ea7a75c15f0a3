// cp.async: groups, partial waits, zero fill; and that data is not there before the wait.
#include <cuda_pipeline.h>

#include "check.h"

__global__ void double_buffer(const float4* in, float* out, int tiles) {
  __shared__ float4 buffer[2][64];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&buffer[0][t], in + t, 16);
  __pipeline_commit();
  float sum = 0;
  for (int k = 0; k < tiles; ++k) {
    if (k + 1 < tiles) __pipeline_memcpy_async(&buffer[(k + 1) % 2][t], in + (k + 1) * 64 + t, 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    const float4 v = buffer[k % 2][63 - t];
    sum += v.x + v.y + v.z + v.w;
    __syncthreads();
  }
  out[t] = sum;
}

__global__ void zero_fill(const int* in, int* out) {
  __shared__ int tile[64];
  const int t = threadIdx.x;
  tile[t] = -1;
  __pipeline_memcpy_async(&tile[t], in + t, 4, t % 2 ? 4 : 0);  // bytes to clear
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[t] = tile[t];
}

__global__ void ignored_source(const int* in, int* out) {
  __shared__ int tile[64];
  const int t = threadIdx.x;
  tile[t] = -1;
  const auto to = unsigned(__cvta_generic_to_shared(&tile[t]));
  // A source that is ignored need not be there.
  const int* from = t % 3 ? in + t : nullptr;
  asm volatile(
      "{ .reg .pred p; setp.eq.u32 p, %2, 0; cp.async.ca.shared.global [%0], [%1], 4, p; }" ::"r"(to),
      "l"(from), "r"(t % 3)
      : "memory");
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[t] = tile[t];
}

__global__ void no_wait(const int* in, int* out) {
  __shared__ int tile[32];
  const int t = threadIdx.x;
  tile[t] = -7;
  __pipeline_memcpy_async(&tile[t], in + t, 4);
  __pipeline_commit();
  out[t] = tile[t];
  __pipeline_wait_prior(0);
  out[t + 32] = tile[t];
}

// The matrix's last row ends inside a 16-byte copy: only what is read must be there.
__global__ void ragged_end(const float* in, float* out, int n) {
  __shared__ __align__(16) float tile[128];
  const int t = threadIdx.x, first = 4 * t;
  const int missing = first >= n ? 16 : n - first >= 4 ? 0 : 16 - 4 * (n - first);
  __pipeline_memcpy_async(&tile[first], in + (missing == 16 ? 0 : first), 16, missing);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int k = t; k < 128; k += 32) out[k] = tile[k];
}

int main() {
  constexpr int tiles = 5;
  Managed<float4> in(tiles * 64);
  Managed<float> out(64);
  float* flat = reinterpret_cast<float*>(in.data);
  for (int k = 0; k < tiles * 256; ++k) flat[k] = float(bits_of(k, 1) % 100);
  double_buffer<<<1, 64>>>(in.data, out.data, tiles);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 64; ++t) {
    float sum = 0;
    for (int k = 0; k < tiles; ++k) {
      for (int c = 0; c < 4; ++c) sum += flat[(k * 64 + 63 - t) * 4 + c];
    }
    expect(out[t] == sum, "double buffering");
  }
  Managed<int> numbers(64), result(64);
  for (int k = 0; k < 64; ++k) numbers[k] = k + 1;
  zero_fill<<<1, 64>>>(numbers.data, result.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 64; ++t) expect(result[t] == (t % 2 ? 0 : t + 1), "zero fill");
  ignored_source<<<1, 64>>>(numbers.data, result.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 64; ++t) expect(result[t] == (t % 3 ? t + 1 : 0), "ignored sources");
  float *exact, *filled;
  constexpr int n = 101;
  CHECK_CUDA(cudaMalloc(&exact, n * sizeof(float)));
  CHECK_CUDA(cudaMemcpy(exact, flat, n * sizeof(float), cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMallocManaged(&filled, 128 * sizeof(float)));
  ragged_end<<<1, 32>>>(exact, filled, n);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int k = 0; k < 128; ++k)
    expect(filled[k] == (k < n ? flat[k] : 0), "zero fill past an allocation's end");
  CHECK_CUDA(cudaFree(exact));
  CHECK_CUDA(cudaFree(filled));
  no_wait<<<1, 32>>>(numbers.data, result.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 32; ++t) expect(result[t] == -7 && result[t + 32] == t + 1, "data arrives at the wait");
  return g_failures;
}
