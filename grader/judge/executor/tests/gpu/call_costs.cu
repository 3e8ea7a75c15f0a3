// What calls cost: run once on the GPU directly and once through the executor. Medians of some hundred
// calls, in us.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#define CHECK(call)                                                                            \
  do {                                                                                         \
    const cudaError_t e = (call);                                                              \
    if (e != cudaSuccess) {                                                                    \
      std::printf("FAILED %s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e)); \
      std::exit(1);                                                                            \
    }                                                                                          \
  } while (0)

namespace {

__global__ void nothing() {}
__global__ void add_one(int* p) {
  atomicAdd(p, 1);
}

using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

void measure(const char* name, int runs, const std::function<void()>& call) {
  std::vector<double> all;
  for (int k = 0; k < runs + 10; ++k) {
    const auto begin = Clock::now();
    call();
    if (k >= 10) all.push_back(us_since(begin));
  }
  std::sort(all.begin(), all.end());
  std::printf("cost %-44s %10.2f us   99 %% %10.2f\n", name, all[all.size() / 2], all[all.size() * 99 / 100]);
  std::fflush(stdout);
}

}  // namespace

int main() {
  const auto start = Clock::now();
  CHECK(cudaFree(nullptr));
  std::printf("cost %-44s %10.2f us\n", "first call", us_since(start));
  if (auto* ping = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "warpgrade_executor_ping")))
    measure("a call that does nothing", 20000, [&] { ping(); });
  int* counter;
  CHECK(cudaMalloc(&counter, 4));
  CHECK(cudaMemset(counter, 0, 4));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  nothing<<<1, 1, 0, stream>>>();
  CHECK(cudaDeviceSynchronize());
  measure("cudaStreamSynchronize, idle", 5000, [&] { CHECK(cudaStreamSynchronize(stream)); });
  measure("cudaDeviceSynchronize, idle", 5000, [&] { CHECK(cudaDeviceSynchronize()); });
  measure("launch + cudaStreamSynchronize", 2000, [&] {
    nothing<<<1, 1, 0, stream>>>();
    CHECK(cudaStreamSynchronize(stream));
  });
  constexpr int kLaunches = 20000;
  for (int turn = 0; turn < 3; ++turn) {
    const auto begin = Clock::now();
    for (int k = 0; k < kLaunches; ++k) add_one<<<1, 1, 0, stream>>>(counter);
    const double sent = us_since(begin);
    CHECK(cudaStreamSynchronize(stream));
    std::printf("cost launches: %.0f a second, %.3f us each for the caller\n",
                kLaunches / us_since(begin) * 1e6, sent / kLaunches);
  }
  int value = 0;
  CHECK(cudaMemcpy(&value, counter, 4, cudaMemcpyDeviceToHost));
  std::printf("%s: %d launches counted\n", value == 3 * kLaunches ? "ok" : "FAILED", value);
  measure("cudaMemcpy 4 B device to host", 1000,
          [&] { CHECK(cudaMemcpy(&value, counter, 4, cudaMemcpyDeviceToHost)); });
  measure("cudaMemcpy 4 B host to device", 1000,
          [&] { CHECK(cudaMemcpy(counter, &value, 4, cudaMemcpyHostToDevice)); });
  measure("cudaMalloc + cudaFree, 1 MiB", 300, [&] {
    void* p;
    CHECK(cudaMalloc(&p, 1 << 20));
    CHECK(cudaFree(p));
  });
  cudaEvent_t event;
  CHECK(cudaEventCreate(&event));
  measure("cudaEventRecord + cudaEventSynchronize", 1000, [&] {
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaEventSynchronize(event));
  });
  constexpr size_t kBytes = 64 << 20;
  std::vector<char> pageable(kBytes, 1);
  char *device, *pinned;
  CHECK(cudaMalloc(&device, kBytes));
  CHECK(cudaMallocHost(&pinned, kBytes));
  std::fill(pinned, pinned + kBytes, 2);
  measure("64 MiB pageable in", 5,
          [&] { CHECK(cudaMemcpy(device, pageable.data(), kBytes, cudaMemcpyHostToDevice)); });
  measure("64 MiB pageable out", 5,
          [&] { CHECK(cudaMemcpy(pageable.data(), device, kBytes, cudaMemcpyDeviceToHost)); });
  measure("64 MiB pinned in", 10, [&] { CHECK(cudaMemcpy(device, pinned, kBytes, cudaMemcpyHostToDevice)); });
  measure("64 MiB pinned out", 10,
          [&] { CHECK(cudaMemcpy(pinned, device, kBytes, cudaMemcpyDeviceToHost)); });
  return value == 3 * kLaunches ? 0 : 1;
}
