// Not a test: times the emulator on arithmetic that courses use beside fp32, and on launches, beside a loop in native
// code (stopwatch.h).
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "check.h"
#include "stopwatch.h"

constexpr int kThreads = 1 << 16, kSteps = 64;

template <class T, class Step>
__device__ void repeat(T* data, Step step) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  T x = data[i];
  for (int k = 0; k < kSteps; ++k) x = step(x);
  data[i] = x;
}

__global__ void fp16_pairs(__half2* data) {
  const __half2 a = __float2half2_rn(0.5f), b = __float2half2_rn(0.25f);
  repeat(data, [=](__half2 x) { return __hmax2(__hfma2(x, a, b), __hadd2(x, b)); });
}
__global__ void bf16_pairs(__nv_bfloat162* data) {
  const __nv_bfloat162 a = __float2bfloat162_rn(0.5f), b = __float2bfloat162_rn(0.25f);
  repeat(data, [=](__nv_bfloat162 x) { return __hmax2(__hfma2(x, a, b), __hadd2(x, b)); });
}
__global__ void fp16_conversions(__half* data) {
  repeat(data, [](__half x) { return __float2half(__half2float(x) * 0.5f + 1.0f); });
}
__global__ void bf16_conversions(__nv_bfloat16* data) {
  repeat(data, [](__nv_bfloat16 x) { return __float2bfloat16(__bfloat162float(x) * 0.5f + 1.0f); });
}
__global__ void fp8_conversions(__nv_fp8_e4m3* data) {
  repeat(data, [](__nv_fp8_e4m3 x) { return __nv_fp8_e4m3(float(x) * 0.5f + 1.0f); });
}
__global__ void fp64(double* data) {
  repeat(data, [](double x) { return fma(x, 0.5, 1.0) - x * 0.25; });
}
__global__ void integer_pairs(unsigned* data) {
  repeat(data, [](unsigned x) { return __vadd2(x, 0x00010002u) ^ __vmaxu4(x, 0x01020304u); });
}
__global__ void dot_products(int* data) {
  repeat(data, [](int x) { return __dp4a(x, 0x01020304, x); });
}
__global__ void shared_sums(float* data) {
  __shared__ float s[256];
  const int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
  s[t] = data[i];
  for (int k = 0; k < 8; ++k) {
    for (int o = 128; o > 0; o /= 2) {
      __syncthreads();
      if (t < o) s[t] = s[t] + s[t + o] * 0.5f;
    }
  }
  __syncthreads();
  data[i] = s[t];
}
__global__ void small(float* data) {
  data[blockIdx.x * blockDim.x + threadIdx.x] += 1.0f;
}
__global__ void touch(char* data, size_t step) {
  data[(size_t(blockIdx.x) * blockDim.x + threadIdx.x) * step] = 1;
}

void finish() {
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
}

template <class T, class Kernel>
void compare(const char* name, Kernel kernel) {
  Managed<T> data(kThreads);
  std::vector<float> host(kThreads, 1.0f);
  stopwatch::compare(
      name,
      [&] {
        kernel<<<kThreads / 256, 256>>>(data.data);
        finish();
      },
      [&] {
        for (int k = 0; k < kSteps; ++k) {
          for (float& x : host) x = x * 0.5f + 1.0f;
        }
      });
}

int main() {
  compare<__half2>("arithmetic, f16x2", fp16_pairs);
  compare<__nv_bfloat162>("arithmetic, bf16x2", bf16_pairs);
  compare<__half>("conversions, f16", fp16_conversions);
  compare<__nv_bfloat16>("conversions, bf16", bf16_conversions);
  compare<__nv_fp8_e4m3>("conversions, e4m3", fp8_conversions);
  compare<double>("arithmetic, f64", fp64);
  compare<unsigned>("arithmetic, parts of integers", integer_pairs);
  compare<int>("arithmetic, dp4a", dot_products);
  compare<float>("sums in shared memory", shared_sums);
  Managed<float> data(kThreads);
  stopwatch::compare(
      "launches, 2000 of 100 blocks",
      [&] {
        for (int k = 0; k < 2000; ++k) small<<<100, 128>>>(data.data);
        finish();
      },
      [&] {
        for (int k = 0; k < 2000; ++k) {
          for (int i = 0; i < 12800; ++i) data.data[i] += 1.0f;
        }
      });
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreate(&stream));
  CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  small<<<100, 128, 0, stream>>>(data.data);
  CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
  CHECK_CUDA(cudaGraphInstantiate(&executable, graph, 0));
  stopwatch::compare(
      "graphs, 2000 of 100 blocks",
      [&] {
        for (int k = 0; k < 2000; ++k) CHECK_CUDA(cudaGraphLaunch(executable, stream));
        finish();
      },
      [&] {
        for (int k = 0; k < 2000; ++k) {
          for (int i = 0; i < 12800; ++i) data.data[i] += 1.0f;
        }
      });
  stopwatch::compare(
      "first touch of 4 GB, one byte in 64 KB",
      [&] {
        char* large = nullptr;
        CHECK_CUDA(cudaMalloc(&large, size_t(4) << 30));
        touch<<<256, 256>>>(large, 1 << 16);
        finish();
        CHECK_CUDA(cudaFree(large));
      },
      [] {
        auto* large = static_cast<volatile char*>(std::calloc(size_t(4) << 30, 1));
        for (size_t at = 0; at < size_t(4) << 30; at += 1 << 16) large[at] = 1;
        std::free(const_cast<char*>(large));
      });
}
