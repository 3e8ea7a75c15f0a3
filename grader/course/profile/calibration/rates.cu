// Measures what profile/rates/*.rates hold, on the GPU that is there: `name = value` a line, half a minute
// at most.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace {

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "rates: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

__global__ void read_all(const float4* from, std::size_t n, float* to) {
  float sum = 0;
  for (std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x; i < n;
       i += std::size_t(gridDim.x) * blockDim.x) {
    const float4 v = from[i];
    sum += v.x + v.y + v.z + v.w;
  }
  if (sum == 12345.0f) *to = sum;
}

// Rows of 128 bytes in no order, from a footprint of `rows` rows.
__global__ void gather(const float* from, unsigned rows, int turns, float* to) {
  const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  unsigned state = warp * 2654435761u + 12345;
  float sum = 0;
  for (int t = 0; t < turns; t += 4) {
    for (int k = 0; k < 4; ++k) {
      state = state * 1664525u + 1013904223u;
      sum += from[std::size_t(__umulhi(state, rows)) * 32 + lane];
    }
  }
  if (sum == 12345.0f) *to = sum;
}

__global__ void update(int* counters, unsigned n, int turns) {
  unsigned state = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u + 1;
  for (int t = 0; t < turns; ++t) {
    state = state * 1664525u + 1013904223u;
    atomicAdd(counters + __umulhi(state, n), 1);
  }
}

// Each lane stores 8 bytes of a sector of its own.
__global__ void part_stores(double* to, int turns) {
  const std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
  for (int t = 0; t < turns; ++t) to[(i * 16) + t % 16] = t;
}

__global__ void chase(const int* next, int steps, int* to) {
  int at = threadIdx.x;
  for (int t = 0; t < steps; ++t) at = next[at];
  *to = at;
}

__global__ void nothing() {}

double best_us(const std::function<void()>& run, int times = 5) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  float best = 1e30f;
  for (int t = 0; t < times; ++t) {
    check(cudaEventRecord(begin), "event");
    run();
    check(cudaGetLastError(), "launch");
    check(cudaEventRecord(end), "event");
    check(cudaEventSynchronize(end), "run");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "time");
    best = std::min(best, ms);
  }
  return 1e3 * best;
}

// Nanoseconds a dependent load takes in a ring of that many bytes.
double load_ns(std::size_t bytes, int* next, int* to) {
  constexpr std::size_t kStep = 64;  // ints: two lines apart
  const std::size_t n = bytes / sizeof(int) / kStep;
  std::vector<std::size_t> order(n);
  for (std::size_t k = 0; k < n; ++k) order[k] = k;
  unsigned state = 7;
  for (std::size_t k = n - 1; k > 0; --k)
    std::swap(order[k], order[(state = state * 1664525u + 1013904223u) % (k + 1)]);
  std::vector<int> ring(bytes / sizeof(int));
  for (std::size_t k = 0; k < n; ++k) ring[order[k] * kStep] = static_cast<int>(order[(k + 1) % n] * kStep);
  check(cudaMemcpy(next, ring.data(), bytes, cudaMemcpyHostToDevice), "copy");
  constexpr int kSteps = 20000;
  return 1e3 * best_us([&] { chase<<<1, 1>>>(next, kSteps, to); }, 3) / kSteps;
}

}  // namespace

int main() {
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0), "device");
  std::printf("# %s, %d multiprocessors, %d bytes of L2\n", device.name, device.multiProcessorCount,
              device.l2CacheSize);
  const std::size_t bytes = std::size_t(2) << 30;
  float *memory = nullptr, *to = nullptr;
  check(cudaMalloc(&memory, bytes), "memory");
  check(cudaMalloc(&to, 4096), "memory");
  check(cudaMemset(memory, 0, bytes), "fill");
  const int blocks = 8 * device.multiProcessorCount;
  const double read =
      best_us([&] { read_all<<<blocks, 256>>>(reinterpret_cast<float4*>(memory), bytes / 16, to); });
  std::printf("dram_bytes_per_s = %.4g\n", bytes / read * 1e6);
  for (const double part : {0.1, 0.25, 0.5, 1.0, 2.0, 5.0}) {
    const double footprint = part * device.l2CacheSize;
    constexpr int kTurns = 512;
    const double us =
        best_us([&] { gather<<<blocks, 256>>>(memory, static_cast<unsigned>(footprint / 128), kTurns, to); });
    const double rate = 128.0 * kTurns * blocks * 8 / us * 1e6;
    std::printf("%sl2_bytes_per_s = %.4g  # footprint %.0f MB\n", part == 0.25 ? "" : "# ", rate,
                footprint / 1e6);
  }
  int* counters = reinterpret_cast<int*>(memory);
  for (const unsigned n : {1u, 5825u, 1u << 22}) {
    constexpr int kTurns = 16;
    const double us = best_us([&] { update<<<blocks, 256>>>(counters, n, kTurns); });
    const char* name = n == 1      ? "updates_of_one_sector_per_s"
                       : n == 5825 ? "scattered_updates_per_s"
                                   : "# of 16 MB: updates_per_s";
    std::printf("%s = %.4g\n", name, double(kTurns) * blocks * 256 / us * 1e6);
  }
  const double stores = best_us([&] { part_stores<<<blocks, 256>>>(reinterpret_cast<double*>(memory), 64); });
  std::printf("partly_written_sectors_per_s = %.4g\n", 64.0 * blocks * 256 / stores * 1e6);
  std::printf("l1_wait_ns = %.4g\n", load_ns(32 << 10, counters, counters + (bytes / 8)));
  std::printf("l2_wait_ns = %.4g\n", load_ns(8 << 20, counters, counters + (bytes / 8)));
  std::printf("dram_wait_ns = %.4g\n", load_ns(1 << 29, counters, counters + (bytes / 8)));
  constexpr int kLaunches = 1000;
  const double us = best_us([&] {
    for (int k = 0; k < kLaunches; ++k) nothing<<<1, 32>>>();
  });
  std::printf("launch_us = %.4g\n", us / kLaunches);
  return 0;
}
