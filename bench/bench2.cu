// Matmul variants beside cuBLAS (fp32, pedantic): every cell checked against fp64, times interleaved, L2 emptied.
//   nvcc -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a bench2.cu -lcublas -o bench2 && ./bench2
//   ./bench --small   odd shapes, checks alone (for the emulator)      ./bench --profile   each variant once, for ncu      --only TEXT   variants with TEXT in the name
#include <cublas_v2.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "fp32.h"
#include "old.h"
#include "tf32.h"
#define matmul_run lab_3xtf32
#include "optimized_3xtf32.h"
#undef matmul_run

#define OK(call)                                                                                   \
  do {                                                                                             \
    auto e_ = (call);                                                                              \
    if (int(e_) != 0) {                                                                            \
      printf("%s:%d: %s gave %d\n", __FILE__, __LINE__, #call, int(e_));                           \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

using Run = cudaError_t (*)(const float*, const float*, int, int, int, float*, cudaStream_t);

__device__ unsigned mix(unsigned long long x) {
  x ^= x >> 33, x *= 0xff51afd7ed558ccdull, x ^= x >> 33, x *= 0xc4ceb9fe1a85ec53ull, x ^= x >> 33;
  return unsigned(x >> 8);
}
// Uniform in [-1, 1]. thin: one row of 16 has one number that is not 0, or a half, a quarter, ... of its numbers.
__global__ void draw(float* to, size_t rows, size_t cols, unsigned seed, bool thin) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < rows * cols; i += size_t(gridDim.x) * blockDim.x) {
    const size_t r = i / cols, c = i % cols;
    float v = (mix(i * 2 + 1 + (size_t(seed) << 40)) & 0xffffff) * (2.f / 16777216.f) - 1.f +
              (mix(i * 7 + (size_t(seed) << 41)) & 0xff) * (1.f / 8589934592.f);
    if (thin && r % 16 == 5) {
      const size_t j = r / 16;
      if (j % 2 == 0) {
        if (c != mix(r * 31 + seed) % cols) v = 0;
      } else if (mix(i * 5 + 3) % (2u << (j / 2 % 8)) != 0) {
        v = 0;
      }
    }
    to[i] = v;
  }
}
__global__ void widen(const float* from, double* to, size_t count, bool absolute) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x)
    to[i] = absolute ? fabs(double(from[i])) : double(from[i]);
}
struct Errors {
  unsigned long long worst, wrong;
  double squares;
};
__global__ void compare(const float* c, const double* truth, const double* size, size_t count, Errors* to) {
  double squares = 0, worst = 0;
  unsigned long long wrong = 0;
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
    const double error = fabs(double(c[i]) - truth[i]), unit = size[i] * 0x1p-24;
    const double e = error == 0 ? 0 : unit == 0 ? 1e9 : error / unit;
    if (!(e <= 20)) ++wrong;
    if (e > worst || e != e) worst = e != e ? 1e30 : e;
    squares += e * e;
  }
  for (int d = 16; d > 0; d /= 2) {
    worst = fmax(worst, __shfl_down_sync(~0u, worst, d));
    squares += __shfl_down_sync(~0u, squares, d);
    wrong += __shfl_down_sync(~0u, wrong, d);
  }
  if (threadIdx.x % 32 == 0) {
    atomicMax(&to->worst, (unsigned long long)__double_as_longlong(worst));
    atomicAdd(&to->squares, squares);
    atomicAdd(&to->wrong, wrong);
  }
}
__global__ void clocks(long long* to) {
  long long t0, t1;
  const long long c0 = clock64();
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t0)::"memory");
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t1)::"memory");
  } while (t1 - t0 < 100000);
  const long long c1 = clock64();
  to[0] = c1 - c0, to[1] = t1 - t0;
}
// 96 independent sums a thread, 8 warps an SM: what FFMA alone reaches. Operands in registers.
__global__ void __launch_bounds__(256, 1) only_ffma(float* to, float seed, int rounds) {
  float a[12], b[8], s[12][8];
  for (int i = 0; i < 12; ++i) a[i] = seed * (threadIdx.x * 37 % 101 + i * 1.618f) * 0.01f - 0.5f;
  for (int i = 0; i < 8; ++i) b[i] = seed * (threadIdx.x * 53 % 89 + i * 2.718f) * 0.01f - 0.5f;
  for (int i = 0; i < 96; ++i) s[i / 8][i % 8] = i;
#pragma unroll 1
  for (int t = 0; t < rounds; ++t) {
#pragma unroll
    for (int u = 0; u < 8; ++u) {
#pragma unroll
      for (int r = 0; r < 12; ++r)
#pragma unroll
        for (int x = 0; x < 8; ++x) s[r][r % 2 ? 7 - x : x] += a[r] * b[r % 2 ? 7 - x : x];
    }
  }
  float sum = 0;
  for (int i = 0; i < 96; ++i) sum += s[i / 8][i % 8];
  to[blockIdx.x * 256 + threadIdx.x] = sum;
}

cublasHandle_t handle;
cudaError_t run_cublas(const float* a, const float* b, int m, int n, int k, float* c, cudaStream_t stream) {
  cublasSetStream(handle, stream);
  const float one = 1, zero = 0;
  return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n) == CUBLAS_STATUS_SUCCESS
             ? cudaSuccess
             : cudaErrorUnknown;
}

__global__ void nothing() {}
cudaError_t run_nothing(const float*, const float*, int, int, int, float*, cudaStream_t stream) {
  nothing<<<132, 256, 0, stream>>>();
  return cudaGetLastError();
}

struct Variant {
  const char* name;
  Run aligned, any;  // null: does not run there
  int shapes;        // 1: square-1024, 2: ragged-4000, 4: square-4096
  bool checked = true;
};

using namespace fp32;
// name, then Plan's numbers up to the way of A; V and min. blocks follow.
#define BOTH(name, shapes, blocks, ...) {name, run<Plan<__VA_ARGS__, 4, blocks>>, run<Plan<__VA_ARGS__, 1, blocks>>, shapes}
#define WHOLE(name, shapes, blocks, ...) {name, run<Plan<__VA_ARGS__, 4, blocks>>, nullptr, shapes}
#define SMALL(name, blocks, groups, split, ...) {name, run<Plan<__VA_ARGS__, 4, blocks, groups, split>>, nullptr, 1}
#define ABLATED(name, off, ...) {name, run<Plan<__VA_ARGS__, 4, 1, 1, 1, off>>, nullptr, 4, false}

// Bands of another height than 1024 rows.
template <class P, int kBand>
cudaError_t run_banded(const float* a, const float* b, int m, int n, int k, float* c, cudaStream_t stream) {
  cudaError_t e = cudaFuncSetAttribute(kernel<P>, cudaFuncAttributeMaxDynamicSharedMemorySize, int(P::kBytes));
  if (e != cudaSuccess) return e;
  const int down = (m + P::BM - 1) / P::BM, across = (n + P::BN - 1) / P::BN;
  kernel<P><<<down * across, P::kThreads, P::kBytes, stream>>>(a, b, m, n, k, c, down, across, kBand);
  return cudaGetLastError();
}
template <int kVec>
using Large = Plan<256, 128, 8, 64, 64, 4, kColumns, kVec, 1>;
#define BANDED(name, band) {name, run_banded<Large<4>, band>, run_banded<Large<1>, band>, 6}
#define CUT(name, off) {name, run<Plan<256, 128, 8, 64, 64, 4, kColumns, 4, 1, 1, 1, off>>, nullptr, 4, false}

const std::vector<Variant> variants = {
    {"cublas", run_cublas, run_cublas, 7},
    BOTH("cols 256x128x8 s4", 6, 1, 256, 128, 8, 64, 64, 4, kColumns),
    BOTH("cols 256x128x8 s3", 6, 1, 256, 128, 8, 64, 64, 3, kColumns),
    BOTH("cols 256x128x8 s6", 6, 1, 256, 128, 8, 64, 64, 6, kColumns),
    BOTH("cols 128x256x8 s4", 6, 1, 128, 256, 8, 64, 64, 4, kColumns),
    BANDED("cols 256x128x8 s4 band 2", 2),
    BANDED("cols 256x128x8 s4 band 8", 8),
    BANDED("cols 256x128x8 s4 band 16", 16),
    SMALL("rows 64x128x8 s4 g2", 1, 2, 1, 64, 128, 8, 32, 64, 4, kRows),
    SMALL("cols 128x128x8 s4 g2 c2", 1, 2, 2, 128, 128, 8, 64, 64, 4, kColumns),
    CUT("cut: no copies, cols 256", 1),
    CUT("cut: no copies, no barrier, cols", 3),
    {"3xtf32 wgmma drain 4 (v1)", warp_groups::run<4, 4>, warp_groups::run<1, 4>, 7},
    {"optimized_3xtf32/", lab_3xtf32, lab_3xtf32, 7},
};

struct Shape {
  const char* name;
  int m, n, k, bit;
};

int main(int count, char** words) {
  bool small = false, profile = false;
  const char* only = nullptr;
  for (int i = 1; i < count; ++i) {
    if (!strcmp(words[i], "--small")) small = true;
    if (!strcmp(words[i], "--profile")) profile = true;
    if (!strcmp(words[i], "--only") && i + 1 < count) only = words[++i];
  }
  OK(cublasCreate(&handle));
  OK(cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH));
  cudaStream_t stream;
  OK(cudaStreamCreate(&stream));
  cudaDeviceProp device;
  OK(cudaGetDeviceProperties(&device, 0));
  printf("%s, %d SMs, L2 %d MB\n", device.name, device.multiProcessorCount, device.l2CacheSize >> 20);
  std::vector<Shape> shapes = {{"square-1024", 1024, 1024, 1024, 1},
                               {"ragged-4000", 4001, 3999, 2047, 2},
                               {"square-4096", 4096, 4096, 4096, 4}};
  if (small)
    shapes = {{"one", 1, 1, 1, 7},        {"odd", 131, 139, 37, 7},     {"tiles", 256, 256, 96, 7},
              {"edges", 300, 268, 52, 7}, {"short", 12, 8, 4, 7},       {"deep", 40, 36, 516, 7},
              {"narrow", 258, 9, 45, 7},  {"wide", 20, 516, 1028, 7}};
  long long* ticks;
  OK(cudaMalloc(&ticks, 64));
  const auto megahertz = [&] {
    clocks<<<1, 1, 0, stream>>>(ticks);
    long long t[2];
    OK(cudaMemcpyAsync(t, ticks, 16, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    return 1e3 * t[0] / t[1];
  };
  const size_t flush_bytes = small ? 1024 : 2 * size_t(device.l2CacheSize);
  char* flush;
  OK(cudaMalloc(&flush, flush_bytes));
  std::vector<cudaEvent_t> events(2);
  for (auto& e : events) OK(cudaEventCreate(&e));
  if (!small) {
    for (int blocks : {1, 2}) {  // for the clock: a short and a long run
      const int rounds = blocks == 1 ? 200 : 40000;
      only_ffma<<<device.multiProcessorCount, 256, 0, stream>>>(reinterpret_cast<float*>(flush), 1.01f, 200);
      OK(cudaEventRecord(events[0], stream));
      only_ffma<<<device.multiProcessorCount, 256, 0, stream>>>(reinterpret_cast<float*>(flush), 1.01f, rounds);
      OK(cudaEventRecord(events[1], stream));
      const double mhz = megahertz();
      float ms;
      OK(cudaEventElapsedTime(&ms, events[0], events[1]));
      printf("FFMA alone: %.1f TFLOP/s in %.2f ms, %.0f MHz after\n",
             2e-9 * 768 * 256 * device.multiProcessorCount * rounds / ms, ms, mhz);
    }
  }
  bool right = true;
  for (const Shape& s : shapes) {
    const size_t of_a = size_t(s.m) * s.k, of_b = size_t(s.k) * s.n, of_c = size_t(s.m) * s.n;
    float *a, *b, *c;
    double *a64, *b64, *truth, *size;
    Errors* errors;
    OK(cudaMalloc(&a, of_a * 4)); OK(cudaMalloc(&b, of_b * 4)); OK(cudaMalloc(&c, of_c * 4));
    OK(cudaMalloc(&a64, of_a * 8)); OK(cudaMalloc(&b64, of_b * 8));
    OK(cudaMalloc(&truth, of_c * 8)); OK(cudaMalloc(&size, of_c * 8)); OK(cudaMalloc(&errors, sizeof(Errors)));
    const int blocks = small ? 4 : 1024;
    draw<<<blocks, 256, 0, stream>>>(a, s.m, s.k, 1, true);
    draw<<<blocks, 256, 0, stream>>>(b, s.k, s.n, 2, false);
    OK(cublasSetStream(handle, stream));
    for (bool absolute : {false, true}) {
      widen<<<blocks, 256, 0, stream>>>(a, a64, of_a, absolute);
      widen<<<blocks, 256, 0, stream>>>(b, b64, of_b, absolute);
      const double one = 1, zero = 0;
      OK(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, s.n, s.m, s.k, &one, b64, s.n, a64, s.k, &zero,
                     absolute ? size : truth, s.n));
    }
    OK(cudaStreamSynchronize(stream));
    struct Row {
      const Variant* v;
      Run run;
      double worst, rms, mhz;
      unsigned long long wrong;
      std::vector<float> us;
    };
    std::vector<Row> rows;
    for (const Variant& v : variants) {
      const Run run = s.n % 4 == 0 && s.k % 4 == 0 ? v.aligned : v.any;
      if (run == nullptr || (v.shapes & s.bit) == 0) continue;
      if (only && !strstr(v.name, only) && strcmp(v.name, "cublas")) continue;
      Row row{&v, run, 0, 0, 0, 0, {}};
      OK(cudaMemsetAsync(c, 0xff, of_c * 4, stream));
      OK(cudaMemsetAsync(errors, 0, sizeof(Errors), stream));
      const cudaError_t e = run(a, b, s.m, s.n, s.k, c, stream);
      const cudaError_t e2 = e == cudaSuccess ? cudaStreamSynchronize(stream) : e;
      if (e2 != cudaSuccess) {
        printf("%-12s %-30s did not run: %s\n", s.name, v.name, cudaGetErrorString(e2));
        cudaGetLastError();
        right = false;
        continue;
      }
      compare<<<blocks, 256, 0, stream>>>(c, truth, size, of_c, errors);
      Errors got;
      OK(cudaMemcpyAsync(&got, errors, sizeof got, cudaMemcpyDeviceToHost, stream));
      OK(cudaStreamSynchronize(stream));
      memcpy(&row.worst, &got.worst, 8);
      row.rms = std::sqrt(got.squares / of_c);
      row.wrong = got.wrong;
      if (v.checked && got.wrong) right = false;
      rows.push_back(row);
    }
    const int reps = small || profile ? 0 : s.bit == 1 ? 61 : 25;
    for (int r = -2; r < reps; ++r) {
      if (small || profile) break;
      for (size_t i = 0; i < rows.size(); ++i) {
        Row& row = rows[(i + r + 2) % rows.size()];
        OK(cudaMemsetAsync(flush, r & 0xff, flush_bytes, stream));
        OK(cudaEventRecord(events[0], stream));
        OK(row.run(a, b, s.m, s.n, s.k, c, stream));
        OK(cudaEventRecord(events[1], stream));
        OK(cudaEventSynchronize(events[1]));
        float ms;
        OK(cudaEventElapsedTime(&ms, events[0], events[1]));
        if (r >= 0) row.us.push_back(ms * 1e3f);
      }
    }
    if (!small && !profile)
      for (Row& row : rows) {  // the clock behind 20 ms of it
        std::sort(row.us.begin(), row.us.end());
        const int times = std::max(1, int(20e3 / row.us[row.us.size() / 2]));
        for (int i = 0; i < times; ++i) OK(row.run(a, b, s.m, s.n, s.k, c, stream));
        row.mhz = megahertz();
      }
    printf("\n%-12s %-30s %9s %9s %7s %8s %6s %8s %7s %8s\n", "shape", "variant", "us", "least us", "ratio", "TFLOP/s",
           "MHz", "max err", "rms", "rms/fp32");
    for (const Row& row : rows) {
      const double us = small || profile ? 0 : row.us[row.us.size() / 2], base = small || profile ? 0 : rows[0].us[rows[0].us.size() / 2];
      printf("%-12s %-30s %9.2f %9.2f %7.3f %8.2f %6.0f %8.3f %7.4f %8.2f%s\n", s.name, row.v->name, us,
             small || profile ? 0 : row.us[0], base / us, 2e-6 * s.m * s.n * s.k / us, row.mhz, row.worst, row.rms,
             row.rms / rows[0].rms, !row.v->checked ? "  (not checked)" : row.wrong ? "  WRONG" : row.rms > 1 ? "  RMS" : "");
    }
    for (void* p : {(void*)a, (void*)b, (void*)c, (void*)a64, (void*)b64, (void*)truth, (void*)size, (void*)errors})
      OK(cudaFree(p));
  }
  printf("%s\n", right ? "every cell of every variant is right" : "SOMETHING IS WRONG");
  return right ? 0 : 1;
}
