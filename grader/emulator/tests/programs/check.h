// What the test programs share: a kernel computes f(i) for each i, with full warps and with scattered lanes,
// and the host computes the same; the program's exit code is the number of families that differ.
#pragma once
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK_CUDA(call)                                                                     \
  do {                                                                                       \
    const cudaError_t error_ = (call);                                                       \
    if (error_ != cudaSuccess) {                                                             \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_)); \
      std::exit(100);                                                                        \
    }                                                                                        \
  } while (0)

inline int g_failures = 0;

inline void expect(bool ok, const char* what) {
  if (ok) return;
  ++g_failures;
  std::printf("FAILED: %s\n", what);
}

// Host-visible device memory.
template <class T>
struct Managed {
  explicit Managed(size_t n) : size(n) {
    CHECK_CUDA(cudaMallocManaged(&data, n * sizeof(T)));
    std::memset(static_cast<void*>(data), 0, n * sizeof(T));
  }
  ~Managed() { cudaFree(data); }
  Managed(const Managed&) = delete;
  T& operator[](size_t k) { return data[k]; }
  T* data = nullptr;
  size_t size;
};

// Pseudo-random bits with the interesting values among them.
__host__ __device__ inline uint64_t bits_of(int i, int salt) {
  const uint64_t special[] = {0,    1,  ~0ull, 1ull << 31, 1ull << 63, 0x7fffffff, 0x7fffffffffffffffull,
                              0xff, 32, 33};
  if (i % 13 == salt % 13) return special[(i / 13 + salt) % 10];
  uint64_t x = (uint64_t(i) + 1) * 0x9e3779b97f4a7c15ull + uint64_t(salt) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

// Floats of every magnitude, with zeros, infinities and NaN.
__host__ __device__ inline float float_of(int i, int salt) {
  const float special[] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 1e-40f, 3.4e38f, 0.5f};
  if (i % 11 == salt % 11) return special[(i / 11 + salt) % 10];
  const uint64_t b = bits_of(i, salt);
  const float mantissa = 1.0f + float(b & 0x7fffff) / 8388608.0f;
  return ((b >> 40 & 1) ? -mantissa : mantissa) * exp2f(float(int(b >> 24 & 31) - 16));
}
__host__ __device__ inline double double_of(int i, int salt) {
  const double low = double(bits_of(i + 7, salt) & 0xfffffff) * 0x1p-60;
  return double(float_of(i, salt)) * (1.0 + low);
}

template <class Out, class F>
__global__ void evaluate(F f, Out* out, int n, bool scattered) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || (scattered && i * 7 % 3 == 0)) return;
  out[i] = f(i);
}

template <class Out>
bool same(Out x, Out y, double tolerance) {
  if (std::memcmp(&x, &y, sizeof x) == 0) return true;
  if constexpr (std::is_floating_point<Out>::value) {
    if (std::isnan(x) && std::isnan(y)) return true;  // payloads are free
    if (tolerance == 0) return false;
    if (std::isinf(x) || std::isinf(y)) return x == y;
    return std::fabs(double(x) - double(y)) <= tolerance * std::fmax(1e-30, std::fabs(double(y)));
  }
  return false;
}

// `device` on the device against `host` on the host; relative tolerance, 0: bit for bit.
template <class Out, class Device, class Host>
void compare(const char* name, Device device, Host host, double tolerance = 0) {
  constexpr int n = 1000;
  Managed<Out> out(n);
  for (const bool scattered : {false, true}) {
    std::memset(static_cast<void*>(out.data), 0x5a, n * sizeof(Out));
    const Out untouched = out[0];
    evaluate<Out><<<(n + 95) / 96, 96>>>(device, out.data, n, scattered);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < n; ++i) {
      const bool idle = scattered && i * 7 % 3 == 0;
      if (same<Out>(out[i], idle ? untouched : host(i), idle ? 0 : tolerance)) continue;
      ++g_failures;
      std::printf("FAILED: %s at i=%d%s: got", name, i, scattered ? " (scattered)" : "");
      if constexpr (std::is_floating_point<Out>::value) {
        std::printf(" %.9g want %.9g\n", double(out[i]), double(host(i)));
      } else {
        std::printf(" %llx want %llx\n", (unsigned long long)out[i], (unsigned long long)host(i));
      }
      return;
    }
  }
}

// One expression for both sides.
template <class Out, class Both>
void compare_both(const char* name, Both both, double tolerance = 0) {
  compare<Out>(name, both, both, tolerance);
}

#define BOTH [=] __host__ __device__
