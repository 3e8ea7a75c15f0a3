// Measures what the share of the limit rests on (course/score/limit.h), on the GPU that is there, in
// seconds: one JSON object. Each figure is the best of several runs of several shapes: a limit is what the
// device can do at all. Units of arithmetic work on registers alone. `warpgrade calibrate --device` compiles
// and runs it.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

struct Device {
  int multiprocessors = 0;
  std::size_t l2_bytes = 0;
  float4* memory = nullptr;
  std::size_t bytes = 0;
  float* sink = nullptr;
  cudaEvent_t begin{}, end{};
};

// The shortest of so many runs, in seconds.
double best_s(const Device& device, const std::function<void()>& run, int times = 12) {
  float best = 1e30f;
  for (int t = 0; t < times; ++t) {
    check(cudaEventRecord(device.begin), "event");
    run();
    check(cudaGetLastError(), "launch");
    check(cudaEventRecord(device.end), "event");
    check(cudaEventSynchronize(device.end), "run");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, device.begin, device.end), "time");
    best = std::min(best, ms);
  }
  return 1e-3 * best;
}

// --- Memory

__device__ void keep(float4 sum, float* sink) {
  if (sum.x + sum.y + sum.z + sum.w == 12345.0f) *sink = sum.x;
}

__device__ void add(float4& sum, const float4& value) {
  sum.x += value.x;
  sum.y += value.y;
  sum.z += value.z;
  sum.w += value.w;
}

__global__ void read_once(const float4* from, std::size_t n, float* sink) {
  float4 sum{};
  const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
#pragma unroll 4
  for (std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x; i < n; i += step)
    add(sum, __ldcs(from + i));
  keep(sum, sink);
}

// Every block reads all of it, beginning at another place; `n` is a power of two.
__global__ void read_l2(const float4* from, unsigned n, int turns, float* sink) {
  float4 sum{};
  unsigned i = (blockIdx.x * 977u * blockDim.x + threadIdx.x) & (n - 1);
#pragma unroll 8
  for (int t = 0; t < turns; ++t) {
    add(sum, __ldcg(from + i));
    i = (i + blockDim.x) & (n - 1);
  }
  keep(sum, sink);
}

__global__ void write_l2(float4* to, unsigned n, int turns) {
  unsigned i = (blockIdx.x * 977u * blockDim.x + threadIdx.x) & (n - 1);
#pragma unroll 8
  for (int t = 0; t < turns; ++t) {
    __stcg(to + i, float4{});
    i = (i + blockDim.x) & (n - 1);
  }
}

// Each block reads 16 KiB of its own again and again.
__global__ void read_l1(const float4* from, int turns, float* sink) {
  constexpr unsigned kPart = 1024;
  const float4* own = from + std::size_t(blockIdx.x) * kPart;
  float4 sum{};
  unsigned i = threadIdx.x % kPart;
#pragma unroll 8
  for (int t = 0; t < turns; ++t) {
    add(sum, __ldca(own + i));
    i = (i + 32) % kPart;
  }
  keep(sum, sink);
}

double dram(const Device& device) {
  double best = 0;
  for (const int blocks : {2, 4, 8, 16})
    for (const int threads : {256, 512, 1024}) {
      const double s = best_s(device, [&] {
        read_once<<<blocks * device.multiprocessors, threads>>>(device.memory, device.bytes / 16,
                                                                device.sink);
      });
      best = std::max(best, device.bytes / s);
    }
  return best;
}

double l2(const Device& device) {
  constexpr int kTurns = 2048;
  double best = 0;
  for (const int part : {4, 8, 16}) {
    unsigned n = 1;
    while (n * std::size_t(32) <= device.l2_bytes / part) n *= 2;
    for (const int threads : {512, 1024}) {
      const int blocks = 2048 / threads * device.multiprocessors;
      const double bytes = 16.0 * kTurns * blocks * threads;
      const double reading = best_s(
          device, [&] { read_l2<<<blocks, threads>>>(device.memory, n, kTurns, device.sink); }, 5);
      const double writing = best_s(
          device, [&] { write_l2<<<blocks, threads>>>(device.memory, n, kTurns); }, 5);
      best = std::max({best, bytes / reading, bytes / writing});
    }
  }
  return best;
}

double l1(const Device& device) {
  constexpr int kTurns = 4096, kThreads = 1024;
  const double s = best_s(
      device, [&] { read_l1<<<device.multiprocessors, kThreads>>>(device.memory, kTurns, device.sink); });
  return 16.0 * kTurns * kThreads * device.multiprocessors / s;
}

// --- A launch

__global__ void nothing() {}

__global__ void wait_ns(std::uint64_t ns) {
  std::uint64_t start = 0, now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - start < ns);
}

// The kernels are queued while another one runs, so that the host does not limit them.
double launch_us(const Device& device) {
  constexpr int kLaunches = 400;
  float best = 1e30f;
  for (int t = 0; t < 12; ++t) {
    wait_ns<<<1, 1>>>(4'000'000);
    check(cudaEventRecord(device.begin), "event");
    for (int k = 0; k < kLaunches; ++k) nothing<<<1, 32>>>();
    check(cudaEventRecord(device.end), "event");
    check(cudaEventSynchronize(device.end), "launches");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, device.begin, device.end), "time");
    best = std::min(best, ms);
  }
  return 1e3 * best / kLaunches;
}

// --- Units of arithmetic. A multiply-add is two operations, a relaxation (a sum and a minimum) one.

// So many steps that beginning and ending a kernel (some microseconds) do not count.
constexpr int kChains = 8, kSteps = 8192, kThreads = 512;

struct Fp32 {
  using Value = float;
  static constexpr double kOperations = 2;
  __device__ static void step(Value& x, Value b, Value c) { x = fmaf(x, b, c); }
};

struct Fp64 {
  using Value = double;
  static constexpr double kOperations = 2;
  __device__ static void step(Value& x, Value b, Value c) { x = fma(x, b, c); }
};

struct Integer {
  using Value = int;
  static constexpr double kOperations = 2;
  __device__ static void step(Value& x, Value b, Value c) {
    asm volatile("xor.b32 %0, %0, %1;\n\tadd.s32 %0, %0, %2;" : "+r"(x) : "r"(b), "r"(c));
  }
};

struct MinPlus {
  using Value = int;
  static constexpr double kOperations = 1;
  __device__ static void step(Value& x, Value b, Value c) { x = __viaddmin_s32(x, b, c); }
};

struct MinPlus16 {
  using Value = unsigned;
  static constexpr double kOperations = 2;
  __device__ static void step(Value& x, Value b, Value c) { x = __viaddmin_s16x2(x, b, c); }
};

template <typename Unit>
__global__ void chains(typename Unit::Value b, typename Unit::Value c, typename Unit::Value* sink) {
  typename Unit::Value x[kChains];
#pragma unroll
  for (int k = 0; k < kChains; ++k) x[k] = threadIdx.x + k;
  for (int t = 0; t < kSteps; t += 8) {
#pragma unroll
    for (int u = 0; u < 8; ++u)
#pragma unroll
      for (int k = 0; k < kChains; ++k) Unit::step(x[k], b, c);
  }
  typename Unit::Value sum = 0;
#pragma unroll
  for (int k = 0; k < kChains; ++k) sum += x[k];
  if (sum == 12345) *sink = sum;
}

template <typename Unit>
double unit(const Device& device) {
  using Value = typename Unit::Value;
  const int blocks = 8 * device.multiprocessors;
  const double s =
      best_s(device, [&] { chains<Unit><<<blocks, kThreads>>>(Value(1), Value(3), (Value*)device.sink); });
  return Unit::kOperations * kChains * kSteps * blocks * kThreads / s;
}

#ifndef __CUDA_ARCH_FEAT_SM90_ALL
#define WARP_GROUPS 0
#else
#define WARP_GROUPS 1
#endif

// Tensor cores: products of registers, four independent sums a warp (PTX ISA, mma.sync).
__global__ void products_fp64(double* sink) {
#if __CUDA_ARCH__ >= 800
  double sum[4][4] = {};
  const double a = threadIdx.x, b = 1;
  for (int t = 0; t < kSteps; ++t) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
#if __CUDA_ARCH__ >= 900
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %4, %4, %4, %4, %4, %4, "
          "%4}, {%5, %5, %5, %5}, {%0, %1, %2, %3};"
          : "+d"(sum[k][0]), "+d"(sum[k][1]), "+d"(sum[k][2]), "+d"(sum[k][3])
          : "d"(a), "d"(b));
#else
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+d"(sum[k][0]), "+d"(sum[k][1])
                   : "d"(a), "d"(b));
#endif
    }
  }
  double all = 0;
  for (int k = 0; k < 4; ++k) all += sum[k][0] + sum[k][1] + sum[k][2] + sum[k][3];
  if (all == 12345) *sink = all;
#endif
}

__global__ void products_tf32(float* sink) {
#if __CUDA_ARCH__ >= 800
  float sum[4][4] = {};
  const unsigned a = threadIdx.x, b = 0;
  for (int t = 0; t < kSteps; ++t) {
#pragma unroll
    for (int k = 0; k < 4; ++k)
      asm volatile(
          "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%5, %5}, "
          "{%0, %1, %2, %3};"
          : "+f"(sum[k][0]), "+f"(sum[k][1]), "+f"(sum[k][2]), "+f"(sum[k][3])
          : "r"(a), "r"(b));
  }
  float all = 0;
  for (int k = 0; k < 4; ++k) all += sum[k][0] + sum[k][1] + sum[k][2] + sum[k][3];
  if (all == 12345) *sink = all;
#endif
}

#define EACH8(at)                                                                                   \
  "+f"(d[at]), "+f"(d[at + 1]), "+f"(d[at + 2]), "+f"(d[at + 3]), "+f"(d[at + 4]), "+f"(d[at + 5]), \
      "+f"(d[at + 6]), "+f"(d[at + 7])
#define EACH64(at)                                                                                          \
  EACH8(at), EACH8(at + 8), EACH8(at + 16), EACH8(at + 24), EACH8(at + 32), EACH8(at + 40), EACH8(at + 48), \
      EACH8(at + 56)

// Products of a warp group, which alone reach the tensor cores' rate on sm_90: 64 x 256 x 8, both factors in
// shared memory without a swizzle (PTX ISA, wgmma.mma_async; the layout does not matter to zeros).
__global__ void products_of_warp_groups(float* sink) {
#if WARP_GROUPS
  __shared__ __align__(128) unsigned factors[(64 + 256) * 8];
  for (unsigned i = threadIdx.x; i < (64 + 256) * 8; i += blockDim.x) factors[i] = 0;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  const auto descriptor = [](const unsigned* at) {
    const std::uint64_t address = static_cast<std::uint64_t>(__cvta_generic_to_shared(at));
    return ((address & 0x3FFFF) >> 4) | (std::uint64_t(128 >> 4) << 16) | (std::uint64_t(256 >> 4) << 32);
  };
  const std::uint64_t a = descriptor(factors), b = descriptor(factors + 64 * 8);
  float d[128] = {};
  constexpr int kInFlight = 8;
  for (int t = 0; t < kSteps; t += kInFlight) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      asm volatile(
          "{\n\t"
          "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 "
          "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, "
          "%21, %22, "
          "%23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, "
          "%42, "
          "%43, "
          "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, "
          "%63, "
          "%64, "
          "%65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, "
          "%84, "
          "%85, "
          "%86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, "
          "%104, "
          "%105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, "
          "%121, "
          "%122, %123, %124, %125, %126, %127}, %128, %129, 1, 1, 1;\n\t}"
          : EACH64(0), EACH64(64)
          : "l"(a), "l"(b));
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  float all = 0;
#pragma unroll
  for (int k = 0; k < 128; ++k) all += d[k];
  if (all == 12345) *sink = all;
#endif
}

// 0 where the device has none of them.
double tensor_fp64(const Device& device, int capability) {
  if (capability < 80) return 0;
  const double products = capability >= 90 ? 16 * 8 * 16 : 8 * 8 * 4;
  const int blocks = 4 * device.multiprocessors, warps = 8;
  const double s =
      best_s(device, [&] { products_fp64<<<blocks, 32 * warps>>>(reinterpret_cast<double*>(device.sink)); });
  return 2 * products * 4 * kSteps * blocks * warps / s;
}

double tensor_tf32(const Device& device, int capability) {
  if (capability < 80) return 0;
  const int blocks = 4 * device.multiprocessors, warps = 8;
  double s = best_s(device, [&] { products_tf32<<<blocks, 32 * warps>>>(device.sink); });
  double best = 2.0 * 16 * 8 * 8 * 4 * kSteps * blocks * warps / s;
  if (capability == 90) {
    int resident = 0;  // blocks a multiprocessor: a wave that is not full would be slower
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, products_of_warp_groups, 128, 0),
          "occupancy");
    const int wave = resident * device.multiprocessors;
    s = best_s(device, [&] { products_of_warp_groups<<<wave, 128>>>(device.sink); });
    best = std::max(best, 2.0 * 64 * 256 * 8 * kSteps * wave / s);
  }
  return best;
}

}  // namespace

int main() {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "device");
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "memory");
  Device device{.multiprocessors = properties.multiProcessorCount,
                .l2_bytes = static_cast<std::size_t>(properties.l2CacheSize),
                .bytes = std::min(std::size_t(1) << 30, free / 2) & ~std::size_t(4095)};
  check(cudaMalloc(&device.memory, device.bytes), "memory");
  check(cudaMalloc(&device.sink, 4096), "memory");
  check(cudaMemset(device.memory, 0, device.bytes), "fill");
  check(cudaEventCreate(&device.begin), "event");
  check(cudaEventCreate(&device.end), "event");
  const int capability = properties.major * 10 + properties.minor;
  const double fp32 = unit<Fp32>(device), min_plus = unit<MinPlus>(device);
  const double fp64 = unit<Fp64>(device), tf32 = tensor_tf32(device, capability);
  const std::vector<std::pair<std::string, double>> units{
      {"fp32", fp32},
      {"fp64", fp64},
      {"fp64 tensor", std::max(fp64, tensor_fp64(device, capability))},
      {"tf32 x 3", std::max(fp32, tf32 / 3)},
      {"integer", unit<Integer>(device)},
      {"min-plus", min_plus},
      {"min-plus 16", std::max(min_plus, unit<MinPlus16>(device))}};
  std::printf("{\"dram_bytes_per_s\": %.5g, \"l2_bytes_per_s\": %.5g, \"l1_bytes_per_s\": %.5g, ",
              dram(device), l2(device), l1(device));
  std::printf("\"launch_us\": %.4g, \"operations_per_s\": {", launch_us(device));
  for (std::size_t i = 0; i < units.size(); ++i)
    std::printf("%s\"%s\": %.5g", i == 0 ? "" : ", ", units[i].first.c_str(), units[i].second);
  std::printf("}}\n");
  return 0;
}
