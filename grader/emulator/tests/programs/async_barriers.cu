// Barriers in shared memory: mbarrier by hand, cuda::barrier, cuda::pipeline, cuda::memcpy_async, and on
// sm_90 bulk copies that count their bytes at a barrier.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

#include <cuda/barrier>
#include <cuda/pipeline>
#include <utility>

#include "check.h"

#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cg = cooperative_groups;

constexpr int kThreads = 256, kTiles = 5;

// --- mbarrier, one thread: out[k] is what step k found ---

#define ARRIVE "mbarrier.arrive.shared.b64 %0, [%1];"

__device__ unsigned parity_is_over(unsigned barrier, unsigned parity) {
  unsigned over;
  asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
               : "=r"(over)
               : "r"(barrier), "r"(parity)
               : "memory");
  return over;
}

__global__ void by_hand(unsigned* out) {
  __shared__ uint64_t storage;
  const auto barrier = unsigned(__cvta_generic_to_shared(&storage));
  uint64_t state;
  unsigned count, over;
  asm volatile("mbarrier.init.shared.b64 [%0], 3;" ::"r"(barrier) : "memory");
  out[0] = parity_is_over(barrier, 0);  // the first phase is going on
  out[1] = parity_is_over(barrier, 1);  // the one before it is over
  asm volatile(ARRIVE : "=l"(state) : "r"(barrier) : "memory");
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(state));
  out[2] = count;
  asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], 1;" : "=l"(state) : "r"(barrier) : "memory");
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(state));
  out[3] = count;
  asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];" : "=l"(state) : "r"(barrier) : "memory");
  out[4] = parity_is_over(barrier, 0);
  asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
               : "=r"(over)
               : "r"(barrier), "l"(state)
               : "memory");
  out[5] = over;
  asm volatile(ARRIVE : "=l"(state) : "r"(barrier) : "memory");  // the dropped one is not awaited again
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(state));
  out[6] = count;
  out[7] = parity_is_over(barrier, 1);
  asm volatile(ARRIVE : "=l"(state) : "r"(barrier) : "memory");
  out[8] = parity_is_over(barrier, 1);
  asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(barrier) : "memory");
}

// Threads of which each copies one element; the barrier learns of the copies by itself.
__global__ void copies_that_arrive(const float* in, float* out) {
  __shared__ uint64_t storage;
  __shared__ float tile[kThreads];
  const auto barrier = unsigned(__cvta_generic_to_shared(&storage));
  const int t = int(threadIdx.x);
  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(kThreads) : "memory");
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(unsigned(__cvta_generic_to_shared(&tile[t]))),
               "l"(in + t)
               : "memory");
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
  while (!parity_is_over(barrier, 0)) {
  }
  out[t] = tile[kThreads - 1 - t];
}

// --- libcu++ ---

__global__ void tiles_behind_a_barrier(const float* in, float* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ alignas(16) float tile[kThreads];
  const auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&barrier, block.size());
  block.sync();
  for (int t = 0; t < kTiles; ++t) {
    cuda::memcpy_async(block, tile, in + t * kThreads, cuda::aligned_size_t<16>(sizeof tile), barrier);
    barrier.arrive_and_wait();
    out[t * kThreads + int(threadIdx.x)] = 2 * tile[kThreads - 1 - threadIdx.x];
    auto token = barrier.arrive();
    barrier.wait(std::move(token));
  }
}

// Half of the warps leave after the first round.
__global__ void some_drop_out(int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int sum;
  if (threadIdx.x == 0) {
    init(&barrier, blockDim.x);
    sum = 0;
  }
  __syncthreads();
  atomicAdd(&sum, 1);
  if (threadIdx.x / 32 % 2 == 1) {
    barrier.arrive_and_drop();
    return;
  }
  barrier.arrive_and_wait();
  out[threadIdx.x] = sum;
  barrier.arrive_and_wait();
  if (threadIdx.x == 0) out[32] = -1;
}

__global__ void two_stage_pipeline(const float* in, float* out) {
  __shared__ alignas(16) float tile[2][kThreads];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  const auto block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  const auto fetch = [&](int t) {
    pipeline.producer_acquire();
    cuda::memcpy_async(block, tile[t % 2], in + t * kThreads, sizeof tile[0], pipeline);
    pipeline.producer_commit();
  };
  fetch(0);
  for (int t = 0; t < kTiles; ++t) {
    if (t + 1 < kTiles) fetch(t + 1);
    pipeline.consumer_wait();
    out[t * kThreads + int(threadIdx.x)] = 2 * tile[t % 2][kThreads - 1 - threadIdx.x];
    pipeline.consumer_release();
  }
}

// Half of the threads produce, the others consume.
__global__ void specialised_warps(const float* in, float* out) {
  __shared__ float tile[2][kThreads / 2];
  __shared__ cuda::barrier<cuda::thread_scope_block> full[2], empty[2];
  constexpr int half = kThreads / 2;
  if (threadIdx.x < 4) init(threadIdx.x < 2 ? &full[threadIdx.x] : &empty[threadIdx.x - 2], kThreads);
  __syncthreads();
  const int t = int(threadIdx.x) % half;
  if (int(threadIdx.x) < half) {
    for (int step = 0; step < 2 * kTiles; ++step) {
      if (step >= 2) empty[step % 2].arrive_and_wait();
      tile[step % 2][t] = in[step * half + t];
      (void)full[step % 2].arrive();
    }
  } else {
    for (int step = 0; step < 2 * kTiles; ++step) {
      full[step % 2].arrive_and_wait();
      out[step * half + t] = tile[step % 2][half - 1 - t];
      (void)empty[step % 2].arrive();
    }
  }
}

// --- bulk copies ---

__global__ void bulk_copies(const float* in, float* out) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __shared__ alignas(128) float tile[kThreads];
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  cuda::barrier<cuda::thread_scope_block>::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(tile, in, cuda::aligned_size_t<16>(sizeof tile), barrier);
    token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof tile);
  } else {
    token = barrier.arrive();
  }
  barrier.wait(std::move(token));
  const float value = 2 * tile[kThreads - 1 - threadIdx.x];
  __syncthreads();
  tile[threadIdx.x] = value;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, out, tile, sizeof tile);
    cuda::ptx::cp_async_bulk_commit_group();
    cuda::ptx::cp_async_bulk_wait_group(cuda::ptx::n32_t<0>());
  }
#endif
}

void check_by_hand() {
  Managed<unsigned> found(9);
  by_hand<<<1, 1>>>(found.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  const unsigned wanted[] = {0, 1, 3, 2, 1, 1, 2, 0, 1};
  for (int k = 0; k < 9; ++k) {
    if (found[k] == wanted[k]) continue;
    ++g_failures;
    std::printf("FAILED: step %d by hand: got %u want %u\n", k, found[k], wanted[k]);
  }
}

template <class Kernel>
void check_tiles(const char* name, Kernel kernel, int tile, int tiles, float factor) {
  Managed<float> in(kThreads * kTiles), out(kThreads * kTiles);
  for (int i = 0; i < kThreads * kTiles; ++i) in[i] = float(i);
  kernel<<<1, kThreads>>>(in.data, out.data);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
  bool right = true;
  for (int i = 0; i < tile * tiles; ++i)
    right = right && out[i] == factor * float(i / tile * tile + tile - 1 - i % tile);
  expect(right, name);
}

void check_dropping() {
  Managed<int> out(kThreads);
  some_drop_out<<<1, kThreads>>>(out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(out[32] == -1, "the second round needs those only that are left");
  for (int t = 0; t < 32; ++t) expect(out[t] == kThreads, "all arrive in the first round");
}

int main(int argc, char**) {
  check_by_hand();
  check_tiles("copies that arrive", copies_that_arrive, kThreads, 1, 1);
  check_tiles("cuda::barrier", tiles_behind_a_barrier, kThreads, kTiles, 2);
  check_tiles("cuda::pipeline", two_stage_pipeline, kThreads, kTiles, 2);
  check_tiles("specialised warps", specialised_warps, kThreads / 2, 2 * kTiles, 1);
  check_dropping();
  if (argc > 1) check_tiles("bulk copies", bulk_copies, kThreads, 1, 2);  // sm_90
  return g_failures;
}
