// Threads that wait for threads: locks between lanes, warps and blocks, flags between blocks in both
// directions.
#include "check.h"

__global__ void lock_and_count(int* lock, int* counter) {
  for (int k = 0; k < 3; ++k) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    *counter = *counter + 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}

// Warp w waits for warp w - 1.
__global__ void chain_of_warps(volatile int* flags, int* order) {
  const int w = threadIdx.x / 32;
  if (w > 0) {
    while (flags[w - 1] == 0) {
    }
  }
  __threadfence();
  if (threadIdx.x % 32 == 0) {
    order[w] = w > 0 ? order[w - 1] + 1 : 1;
    __threadfence();
    flags[w] = 1;
  }
}

// Block b waits for block b + 1, which starts later.
__global__ void chain_of_blocks(volatile int* flags, int* out) {
  const int b = blockIdx.x;
  if (threadIdx.x == 0) {
    if (b + 1 < int(gridDim.x)) {
      while (flags[b + 1] == 0) {
      }
    }
    out[b] = b;
    __threadfence();
    flags[b] = 1;
  }
}

// A barrier of the whole grid, counted with atomicAdd.
__global__ void grid_barrier(int* count, int* data, int* out) {
  data[blockIdx.x] = blockIdx.x * 10;
  __threadfence();
  atomicAdd(count, 1);
  while (atomicAdd(count, 0) < int(gridDim.x)) {
  }
  __threadfence();
  out[blockIdx.x] = data[(blockIdx.x + 1) % gridDim.x];
}

// Every thread of a block asks for the later block's flag between two barriers: the loop's barrier opens at
// each turn, whether or not the block gets further (HeCBench's bh walks its tree so). Volatile or not, a
// barrier makes the compiler load the flag again.
template <class Flag>
__global__ void chain_between_barriers(Flag* flags, int* out) {
  const int b = blockIdx.x;
  const bool waits = b + 1 < int(gridDim.x);
  bool open = false;
  while (!open) open = __syncthreads_or(!waits || flags[b + 1] != 0) != 0;
  if (threadIdx.x != 0) return;
  __threadfence();
  out[b] = waits ? out[b + 1] + 1 : 1;
  __threadfence();
  flags[b] = 1;
}

template <class Flag>
void blocks_that_wait_between_barriers(const char* what) {
  constexpr int blocks = 24;
  Managed<int> flags(blocks), out(blocks);
  chain_between_barriers<Flag><<<blocks, 256>>>(flags.data, out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int b = 0; b < blocks; ++b) expect(out[b] == blocks - b, what);
}

int main() {
  Managed<int> lock(1), counter(1);
  lock_and_count<<<4, 64>>>(lock.data, counter.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(counter[0] == 4 * 64 * 3, "a spin lock between lanes, warps and blocks");
  Managed<int> flags(64), out(64);
  chain_of_warps<<<1, 256>>>(flags.data, out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(out[7] == 8, "a chain of warps");
  std::memset(flags.data, 0, 256);
  chain_of_blocks<<<12, 64>>>(flags.data, out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int b = 0; b < 12; ++b) expect(out[b] == b, "blocks that wait for later blocks");
  Managed<int> count(1), data(8);
  grid_barrier<<<8, 1>>>(count.data, data.data, out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int b = 0; b < 8; ++b) expect(out[b] == (b + 1) % 8 * 10, "a barrier of the grid");
  blocks_that_wait_between_barriers<volatile int>("a chain of blocks between barriers");
  blocks_that_wait_between_barriers<int>("the same with plain loads");
  return g_failures;
}
