#include <cuda_runtime.h>

#include "device_memory.h"
#include "gate.h"

namespace warpgrade::runner {
namespace {

constexpr int kThreads = 1024;
constexpr unsigned long long kGateNs = 20'000;

__device__ unsigned long long global_ns() {
  unsigned long long value;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value));
  return value;
}

__global__ void __launch_bounds__(kThreads) wait_kernel(unsigned long long ns) {
  const unsigned long long start = global_ns();
  while (global_ns() - start < ns) __nanosleep(200);
}

}  // namespace

Gate::Gate() {
  if (on_emulator()) return;
  int device = 0, multiprocessors = 0, blocks_each = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_each, wait_kernel, kThreads, 0);
  blocks_ = multiprocessors * blocks_each;
}

void Gate::close(cudaStream_t stream) {
  if (blocks_ > 0) wait_kernel<<<blocks_, kThreads, 0, stream>>>(kGateNs);
}

void Gate::wait(unsigned long long ns, cudaStream_t stream) {
  if (blocks_ > 0) wait_kernel<<<blocks_, kThreads, 0, stream>>>(ns);
}

}  // namespace warpgrade::runner
