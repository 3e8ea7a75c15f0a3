// Correct kernels whose threads meet through shared memory in each way that courses teach. Checked with
// everything on, they print nothing: racecheck must know what orders them.
#include <cooperative_groups.h>

#include <cuda/barrier>

#include "check.h"

#pragma nv_diag_suppress static_var_with_dynamic_init  // init() is called, as libcu++ documents

namespace cg = cooperative_groups;

constexpr int kThreads = 128, kWarp = 32;

__global__ void two_buffers(const int* in, int* out, int tiles) {
  __shared__ int tile[2][kThreads];
  const int t = threadIdx.x;
  int sum = 0;
  tile[0][t] = in[t];
  __syncthreads();
  for (int k = 0; k < tiles; ++k) {
    if (k + 1 < tiles) tile[(k + 1) & 1][t] = in[(k + 1) * kThreads + t];
    for (int j = 0; j < kThreads; ++j) sum += tile[k & 1][(t + j) % kThreads];
    __syncthreads();
  }
  out[t] = sum;
}

__device__ void meet(int barrier) {
  asm volatile("bar.sync %0, 64;" ::"r"(barrier) : "memory");
}
__device__ void pass(int barrier) {
  asm volatile("bar.arrive %0, 64;" ::"r"(barrier) : "memory");
}

// One warp fills two buffers in turn, another one reads them.
__global__ void producer_and_consumer(const int* in, int* out, int rounds) {
  constexpr int full = 1, empty = 3;
  __shared__ int buffer[2][kWarp];
  const int lane = threadIdx.x % kWarp;
  if (threadIdx.x < kWarp) {
    for (int k = 0; k < rounds; ++k) {
      meet(empty + k % 2);
      buffer[k % 2][lane] = in[k * kWarp + lane];
      pass(full + k % 2);
    }
    return;
  }
  pass(empty);
  pass(empty + 1);
  int sum = 0;
  for (int k = 0; k < rounds; ++k) {
    meet(full + k % 2);
    sum += buffer[k % 2][kWarp - 1 - lane];
    if (k + 2 < rounds) pass(empty + k % 2);
  }
  out[lane] = sum;
}

__global__ void arrive_and_wait(const int* in, int* out) {
  constexpr int half = kThreads / 2;
  __shared__ cuda::barrier<cuda::thread_scope_block> full, empty;
  __shared__ int buffer[half];
  const int t = threadIdx.x;
  if (t == 0) {
    init(&full, blockDim.x);
    init(&empty, blockDim.x);
  }
  __syncthreads();
  int sum = 0;
  for (int k = 0; k < 4; ++k) {
    if (t < half) {
      buffer[t] = in[k * half + t];
      (void)full.arrive();
    } else {
      full.arrive_and_wait();
      sum += buffer[kThreads - 1 - t];
    }
    empty.arrive_and_wait();
  }
  if (t >= half) out[t - half] = sum;
}

__global__ void tiles_of_a_warp(const int* in, int* out) {
  __shared__ int values[kThreads];
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  const int t = threadIdx.x;
  values[t] = in[t];
  tile.sync();
  int sum = 0;
  for (int j = 0; j < 8; ++j) sum += values[t / 8 * 8 + (tile.thread_rank() + j) % 8];
  tile.sync();
  values[t] = sum;
  tile.sync();
  out[t] = values[t ^ 7];
}

__global__ void halves_of_a_warp(int* out) {
  __shared__ int values[kWarp];
  const int lane = threadIdx.x;
  values[lane] = lane;
  if (lane < 16) {
    __syncwarp(0xffff);
    out[lane] = values[15 - lane];
  } else {
    __syncwarp(0xffff0000);
    out[lane] = values[47 - lane];
  }
  __syncwarp();
  values[kWarp - 1 - lane] = lane;
  __syncwarp();
  out[kWarp + lane] = values[lane];
}

__global__ void same_value_from_many(const int* in, int n, int* out) {
  __shared__ int found;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    if (in[i] == 7) found = 1;
  }
  __syncthreads();
  if (threadIdx.x == 0) *out = found;
}

__global__ void neighbouring_bytes(unsigned char* out) {
  __shared__ unsigned char bytes[kThreads];
  const int t = threadIdx.x;
  bytes[t] = static_cast<unsigned char>(t);
  __syncthreads();
  out[t] = bytes[kThreads - 1 - t];
}

__global__ void voting_barriers(const int* in, int* out) {
  __shared__ int values[kThreads];
  const int t = threadIdx.x;
  values[t] = in[t];
  const int count = __syncthreads_count(values[t] > 3);
  out[t] = values[kThreads - 1 - t] + count;
  if (__syncthreads_or(t == 5)) values[kThreads - 1 - t] = t;
  __syncthreads_and(1);
  out[t] += values[t];
}

__global__ void histogram_a_warp(const int* in, int* out) {
  __shared__ int bins[kThreads / kWarp][kWarp];
  const int t = threadIdx.x, warp = t / kWarp, lane = t % kWarp;
  bins[warp][lane] = 0;
  __syncwarp();
  const int bin = in[t] % kWarp;
  const unsigned same = __match_any_sync(~0u, bin);
  if (lane == __ffs(same) - 1) bins[warp][bin] += __popc(same);
  __syncthreads();
  if (warp != 0) return;
  int sum = 0;
  for (int k = 0; k < kThreads / kWarp; ++k) sum += bins[k][lane];
  out[lane] = sum;
}

__global__ void reduction_with_a_last_warp(const int* in, int* out) {
  __shared__ int sums[kThreads];
  const int t = threadIdx.x;
  sums[t] = in[t];
  __syncthreads();
  for (int o = kThreads / 2; o >= kWarp; o /= 2) {
    if (t < o) sums[t] += sums[t + o];
    __syncthreads();
  }
  if (t >= kWarp) return;
  int sum = sums[t];
  for (int o = kWarp / 2; o > 0; o /= 2) {
    if (t < o) sum += sums[t + o];
    __syncwarp();
    sums[t] = sum;
    __syncwarp();
  }
  if (t == 0) *out = sum;
}

// A warp waits for another one's flag.
__global__ void polled_flag(int* out) {
  __shared__ volatile int ready;
  __shared__ int values[kWarp];
  const int t = threadIdx.x;
  if (t == 0) ready = 0;
  __syncthreads();
  if (t < kWarp) {
    values[t] = 3 * t;
    __threadfence_block();
    __syncwarp();
    if (t == 0) ready = 1;
    return;
  }
  while (ready == 0) {
  }
  __threadfence_block();
  out[t - kWarp] = values[2 * kWarp - 1 - t];
}

__global__ void lock_of_each_lane(int* out) {
  __shared__ int lock, count;
  if (threadIdx.x == 0) lock = count = 0;
  __syncthreads();
  for (bool done = false; !done;) {
    if (atomicCAS(&lock, 0, 1) != 0) continue;
    count = count + 1;
    __threadfence_block();
    atomicExch(&lock, 0);
    done = true;
  }
  __syncthreads();
  if (threadIdx.x == 0) *out = count;
}

__global__ void masks_of_those_that_remain(const int* in, int n, int* out) {
  const int t = threadIdx.x;
  const unsigned remaining = __ballot_sync(~0u, t < n);
  if (t >= n) return;
  int sum = in[t];
  for (int o = kWarp / 2; o > 0; o /= 2) {
    const int other = __shfl_xor_sync(remaining, sum, o);
    if ((t ^ o) < n) sum += other;
  }
  out[t] = sum;
}

// The block's own stretch of global memory, with barriers.
__global__ void scratch_in_global_memory(int* scratch, int* out) {
  const int t = threadIdx.x, at = blockIdx.x * kThreads;
  scratch[at + t] = t;
  __syncthreads();
  int sum = scratch[at + kThreads - 1 - t];
  __syncthreads();
  scratch[at + kThreads - 1 - t] = 2;
  __syncthreads();
  sum += scratch[at + t];
  out[at + t] = sum;
}

int main() {
  Managed<int> in(1 << 10), out(1 << 10), scratch(1 << 10);
  for (size_t i = 0; i < in.size; ++i) in[i] = int(i % 97);
  two_buffers<<<1, kThreads>>>(in.data, out.data, 7);
  producer_and_consumer<<<1, 64>>>(in.data, out.data, 6);
  arrive_and_wait<<<1, kThreads>>>(in.data, out.data);
  tiles_of_a_warp<<<1, kThreads>>>(in.data, out.data);
  halves_of_a_warp<<<1, kWarp>>>(out.data);
  same_value_from_many<<<1, kThreads>>>(in.data, int(in.size), out.data);
  neighbouring_bytes<<<1, kThreads>>>(reinterpret_cast<unsigned char*>(out.data));
  voting_barriers<<<1, kThreads>>>(in.data, out.data);
  histogram_a_warp<<<1, kThreads>>>(in.data, out.data);
  polled_flag<<<1, 2 * kWarp>>>(out.data);
  masks_of_those_that_remain<<<1, kWarp>>>(in.data, 21, out.data);
  scratch_in_global_memory<<<8, kThreads>>>(scratch.data, out.data);
  lock_of_each_lane<<<1, 64>>>(out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(out[0] == 64, "each lane of two warps took the lock once");
  reduction_with_a_last_warp<<<1, kThreads>>>(in.data, out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  int sum = 0;
  for (int i = 0; i < kThreads; ++i) sum += in[i];
  expect(out[0] == sum, "the sum of a block");
  return g_failures;
}
