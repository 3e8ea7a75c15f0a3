// Programs with one performance problem each, for estimates of time: on a GPU it prints how long each takes,
// on the emulator (WARPEMU_CHECKS=levels) what it counts.
//
//   problems            all: a JSON line each, {"program": "strided", "us": 812.3}
//   problems NAME...    these
//
// Each time is the median of 11 launches between events; before each 256 MiB are overwritten, so that the
// second-level cache is cold. An error ends the program with exit code 1.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "problems: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

constexpr int kThreads = 256, kMillion = 1 << 20;

// A stream: nothing is wrong.
__global__ void stream(float* to, const float* from) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = 2 * from[i];
}

// Neighbouring lanes read places 128 bytes apart.
__global__ void strided(float* to, const float* from, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int at = static_cast<int>(static_cast<long long>(i) * 32 % n + i / (n / 32));
  to[i] = from[at];
}

// A transposition that writes a column: each store fills an eighth of a sector.
__global__ void column_stores(float* to, const float* from, int width) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  to[(i % width) * (gridDim.x * blockDim.x / width) + i / width] = from[i];
}

// 32 lanes meet in one bank.
__global__ void bank_conflicts(float* to, int turns) {
  __shared__ float tile[32 * 32];
  const int lane = threadIdx.x % 32;
  for (int k = threadIdx.x; k < 32 * 32; k += blockDim.x) tile[k] = k;
  __syncthreads();
  float sum = 0;
  for (int t = 0; t < turns; ++t) sum += tile[lane * 32 + (t + threadIdx.x / 32) % 32];
  to[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Each lane takes a branch of its own.
__global__ void divergence(float* to, int turns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = i;
  for (int lane = 0; lane < 32; ++lane) {
    if (static_cast<int>(threadIdx.x % 32) == lane) {
      for (int t = 0; t < turns; ++t) x = x * 1.5f + lane;
    }
  }
  to[i] = x;
}

// One warp reads a row of a million entries, the others rows of 32.
__global__ void long_row(float* to, const float* from, const int* next, int longest) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  const int entries = warp == 0 ? longest : 32;
  float sum = 0;
  for (int k = 0; k < entries; ++k) sum += from[next[k] * 32 + lane];
  to[warp * 32 + lane] = sum;
}

// One block in 264 does all the work.
__global__ void heavy_blocks(float* to, const float* from, int turns) {
  const int mine = blockIdx.x % 264 == 0 ? turns : 1;
  float sum = 0;
  for (int t = 0; t < mine; ++t)
    sum += from[(t * blockDim.x + threadIdx.x + blockIdx.x * 4096) % (16 * kMillion)];
  to[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// All threads update one counter: the keys are 0, which the compiler does not know.
__global__ void one_counter(int* counters, const int* keys) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(counters + keys[i], 1);
}

// All threads update 4096 counters in no order.
__global__ void scattered_counters(int* counters, const int* keys) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(counters + keys[i] % 4096, 1);
}

// Each load needs the one before, and few warps are there.
__global__ void pointer_chase(int* to, const int* next, int steps) {
  int at = (blockIdx.x * blockDim.x + threadIdx.x) * 1031 % kMillion;
  for (int t = 0; t < steps; ++t) at = next[at];
  to[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

// Shared memory that is not needed leaves a block of 128 threads on each multiprocessor.
__global__ void low_occupancy(float* to, const float* from, int turns) {
  extern __shared__ float unused[];
  float sum = 0;
  for (int t = 0; t < turns; ++t)
    sum += from[(static_cast<unsigned>(t) * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x];
  if (sum == 12345.0f) unused[threadIdx.x] = sum;
  to[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// All blocks read the same 8 MB.
__global__ void reread(float* to, const float* from, int turns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < turns; ++t) sum += from[(i * 97 + t * 65536) % (2 * kMillion)];
  to[i] = sum;
}

// Sines: the special function units.
__global__ void sines(float* to, int turns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = i * 1e-6f;
  for (int t = 0; t < turns; ++t) x = __sinf(x) + 1e-3f;
  to[i] = x;
}

// Nothing but starts.
__global__ void little(float* to) {
  to[threadIdx.x] += 1;
}

class Buffers {
 public:
  Buffers() {
    check(cudaMalloc(&from, kFloats * sizeof(float)), "memory");
    check(cudaMalloc(&to, kFloats * sizeof(float)), "memory");
    check(cudaMalloc(&keys, 4 * kMillion * sizeof(int)), "memory");
    std::vector<int> values(4 * kMillion);
    unsigned state = 1;
    for (int& v : values)
      v = static_cast<int>((state = state * 1664525u + 1013904223u) >> 12);  // below a million
    check(cudaMemcpy(keys, values.data(), values.size() * sizeof(int), cudaMemcpyHostToDevice), "copy");
    check(cudaMemset(from, 0, kFloats * sizeof(float)), "fill");
    check(cudaMemset(to, 0, kFloats * sizeof(float)), "fill");
  }
  static constexpr std::size_t kFloats = 34 * kMillion;
  float *from = nullptr, *to = nullptr;
  int* keys = nullptr;
};

using Program = std::pair<std::string, std::function<void()>>;

std::vector<Program> programs(const Buffers& b) {
  int* counters = reinterpret_cast<int*>(b.to);
  const int blocks = 16 * kMillion / kThreads;
  return {{"stream", [=] { stream<<<blocks, kThreads>>>(b.to, b.from); }},
          {"strided", [=] { strided<<<blocks / 2, kThreads>>>(b.to, b.from, 8 * kMillion); }},
          {"column_stores", [=] { column_stores<<<blocks / 4, kThreads>>>(b.to, b.from, 2048); }},
          {"bank_conflicts", [=] { bank_conflicts<<<1056, kThreads>>>(b.to, 256); }},
          {"divergence", [=] { divergence<<<1056, kThreads>>>(b.to, 32); }},
          {"long_row", [=] { long_row<<<8192, kThreads>>>(b.to, b.from, b.keys, 4096); }},
          {"heavy_blocks", [=] { heavy_blocks<<<2640, kThreads>>>(b.to, b.from, 4000); }},
          {"one_counter",
           [=] { one_counter<<<kMillion / kThreads, kThreads>>>(counters, reinterpret_cast<int*>(b.from)); }},
          {"scattered_counters",
           [=] { scattered_counters<<<4 * kMillion / kThreads, kThreads>>>(counters, b.keys); }},
          {"pointer_chase", [=] { pointer_chase<<<132, 64>>>(counters, b.keys, 500); }},
          {"low_occupancy", [=] { low_occupancy<<<264, 128, 160 << 10>>>(b.to, b.from, 400); }},
          {"reread", [=] { reread<<<4096, kThreads>>>(b.to, b.from, 64); }},
          {"sines", [=] { sines<<<2112, kThreads>>>(b.to, 256); }},
          {"launches", [=] {
             for (int k = 0; k < 200; ++k) little<<<1, 32>>>(b.to);
           }}};
}

double median_us(const Program& program) {
  constexpr int kTimes = 11;
  constexpr std::size_t kFlush = 256 << 20;
  static void* flushed = nullptr;
  if (flushed == nullptr) check(cudaMalloc(&flushed, kFlush), "memory to flush");
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  std::vector<float> times;
  for (int t = 0; t < kTimes; ++t) {
    check(cudaMemset(flushed, t, kFlush), "flush");
    check(cudaEventRecord(begin), "event");
    program.second();
    check(cudaGetLastError(), program.first.c_str());
    check(cudaEventRecord(end), "event");
    check(cudaEventSynchronize(end), program.first.c_str());
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "time");
    times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  return 1e3 * times[kTimes / 2];
}

// Counters of one launch, line by line, each with the program's name put before it.
void count(const Program& program, size_t (*drain)(char*, size_t)) {
  static std::vector<char> text(1 << 20);
  drain(text.data(), text.size());  // of the one before
  program.second();
  check(cudaDeviceSynchronize(), program.first.c_str());
  drain(text.data(), text.size());
  std::printf("{\"program\":\"%s\"}\n%s", program.first.c_str(), text.data());
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> wanted(argv + 1, argv + argc);
  using Drain = size_t (*)(char*, size_t);
  const auto drain = reinterpret_cast<Drain>(dlsym(RTLD_DEFAULT, "warpemu_drain_counters"));
  check(cudaFuncSetAttribute(low_occupancy, cudaFuncAttributeMaxDynamicSharedMemorySize, 160 << 10),
        "shared memory");
  const Buffers buffers;
  for (const Program& program : programs(buffers)) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), program.first) == wanted.end()) continue;
    if (drain != nullptr) {
      count(program, drain);
    } else {
      std::printf("{\"program\":\"%s\",\"us\":%.3f}\n", program.first.c_str(), median_us(program));
    }
  }
  return 0;
}
