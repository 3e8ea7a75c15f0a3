// libcu++: barriers of a block, and a pipeline of asynchronous copies with two stages.
#include <cooperative_groups.h>

#include <cuda/barrier>
#include <cuda/pipeline>

#include "check.h"

#pragma nv_diag_suppress static_var_with_dynamic_init  // init() is called, as libcu++ documents

__global__ void block_barrier(int* out, int rounds) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int tile[128];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  int value = int(threadIdx.x);
  for (int r = 0; r < rounds; ++r) {
    tile[threadIdx.x] = value;
    barrier.arrive_and_wait();
    value = tile[(threadIdx.x + 1) % blockDim.x] + 1;
    auto token = barrier.arrive();
    barrier.wait(std::move(token));
  }
  out[threadIdx.x] = value;
}

__global__ void pipelined(const int* in, int* out, int tiles) {
  const auto block = cooperative_groups::this_thread_block();
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  __shared__ int staged[2][64];
  auto pipe = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int load = 0, use = 0; use < tiles; ++use) {
    for (; load < tiles && load < use + 2; ++load) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, staged[load % 2], in + load * 64, sizeof(int) * 64, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += staged[use % 2][63 - threadIdx.x];
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}

int main() {
  Managed<int> out(128), in(64 * 5);
  block_barrier<<<1, 128>>>(out.data, 5);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int k = 0; k < 128; ++k) expect(out[size_t(k)] == (k + 5) % 128 + 5, "cuda::barrier");
  for (int k = 0; k < 64 * 5; ++k) in[size_t(k)] = k * k;
  pipelined<<<1, 64>>>(in.data, out.data, 5);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 64; ++t) {
    int want = 0;
    for (int tile = 0; tile < 5; ++tile) want += (tile * 64 + 63 - t) * (tile * 64 + 63 - t);
    expect(out[size_t(t)] == want, "cuda::pipeline");
  }
  return g_failures;
}
