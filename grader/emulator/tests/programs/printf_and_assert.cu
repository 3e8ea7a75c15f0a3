// Device printf, clocks, and assert, trap and nanosleep by argument.
#include <cassert>

#include "check.h"

__global__ void speak() {
  if (threadIdx.x < 2) {
    printf("block %d thread %u: %s %.2f %5lld|%-4d|%c %%\n", int(blockIdx.x), threadIdx.x, "text",
           1.5 * threadIdx.x, -7ll, 42, 'z');
  }
}
__global__ void clocks(long long* out) {
  const long long begin = clock64();
  __nanosleep(100);
  unsigned long long time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  out[0] = clock64() - begin;
  out[1] = time > 1000000000ull;
  out[2] = clock() != 0;
}
__global__ void fails(int limit) {
  assert(int(threadIdx.x) < limit);  // MISTAKE assert
}
__global__ void traps() {
  if (threadIdx.x == 3) __trap();  // MISTAKE trap
}

int main(int argc, char** argv) {
  if (argc > 1 && !std::strcmp(argv[1], "assert")) fails<<<1, 32>>>(20);
  if (argc > 1 && !std::strcmp(argv[1], "trap")) traps<<<1, 32>>>();
  if (argc > 1) {
    std::printf("%d\n", int(cudaDeviceSynchronize()));
    return 0;
  }
  speak<<<2, 32>>>();
  CHECK_CUDA(cudaDeviceSynchronize());
  Managed<long long> out(3);
  clocks<<<1, 1>>>(out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(out[0] > 0 && out[1] == 1 && out[2] == 1, "clocks");
  return g_failures;
}
