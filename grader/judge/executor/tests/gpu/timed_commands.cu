// A host process for timed runs: the executor names what to run
// (`warpgrade-executor --timed "1 2 ..." -- this`).
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>

#include "judge/executor/host_commands.h"

namespace {

__global__ void spin(uint64_t ns) {
  uint64_t begin, t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  } while (t - begin < ns);
}
__global__ void copy(const float4* from, float4* to, size_t n) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i < n) to[i] = from[i];
}

constexpr size_t kBytes = 8 << 20;
float4 *g_from, *g_to;
cudaStream_t g_other;

// What a command does, and what its time should be.
const char* run(uint32_t number) {
  switch (number) {
    case 1:
      return "nothing: 0";
    case 2:
      spin<<<1, 1>>>(20'000);
      return "one kernel: 20 us";
    case 3:
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      spin<<<1, 1>>>(20'000);
      return "20 ms on the host, then a kernel: 20 us";
    case 4:
      spin<<<1, 1, 0, g_other>>>(300'000);
      return "a kernel in a stream that nobody joined: 300 us";
    case 5:
      for (int k = 0; k < 500; ++k) spin<<<1, 1>>>(2'000);
      return "500 kernels of 2 us: about 1500 us";
    case 6:
      for (int k = 0; k < 2000; ++k) spin<<<1, 1>>>(2'000);
      return "2000 kernels of 2 us: 4000 us and more, the queue is full";
    case 7:
      spin<<<1, 1>>>(100'000);
      cudaDeviceSynchronize();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      spin<<<1, 1>>>(100'000);
      return "100 us, a wait, 1 ms on the host, 100 us: about 1300 us";
    case 8: {
      cudaStream_t stream;
      cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
      spin<<<1, 1, 0, stream>>>(200'000);
      cudaStreamDestroy(stream);
      return "a stream that comes and goes: 200 us";
    }
    case 9:
      copy<<<kBytes / 16 / 256, 256>>>(g_from, g_to, kBytes / 16);
      return "a copy of 8 MB by a kernel";
    case 10:
      cudaMemcpyAsync(g_to, g_from, kBytes, cudaMemcpyDeviceToDevice, g_other);
      return "a copy of 8 MB by the driver, in another stream";
    default:
      return "unknown";
  }
}

}  // namespace

int main() {
  const auto next = reinterpret_cast<decltype(&warpgrade_executor_next_command)>(
      dlsym(RTLD_DEFAULT, "warpgrade_executor_next_command"));
  const auto done =
      reinterpret_cast<decltype(&warpgrade_executor_done)>(dlsym(RTLD_DEFAULT, "warpgrade_executor_done"));
  if (next == nullptr || done == nullptr) return 2;
  cudaMalloc(&g_from, kBytes);
  cudaMalloc(&g_to, kBytes);
  cudaMemset(g_from, 0, kBytes);
  cudaStreamCreateWithFlags(&g_other, cudaStreamNonBlocking);
  warpgrade_executor_command command;
  while (next(&command) == 0 && command.number != 0) {
    const char* what = run(command.number);
    done(cudaGetLastError(), what);
  }
  return 0;
}
