// Block barriers: __syncthreads, its reductions, named barriers, arrive, exited threads.
#include "check.h"

__global__ void reverse_blocks(int* data) {
  __shared__ int tile[256];
  const int t = threadIdx.x, base = blockIdx.x * 256;
  for (int round = 0; round < 3; ++round) {
    tile[t] = data[base + t];
    __syncthreads();
    data[base + t] = tile[255 - t] + 1;
    __syncthreads();
  }
}

__global__ void reductions(int* out) {
  const int t = threadIdx.x;
  const int count = __syncthreads_count(t % 3 == 0);
  const int all = __syncthreads_and(t < 96), any = __syncthreads_or(t == 50);
  const int none = __syncthreads_or(t == 500);
  out[t] = count + 1000 * all + 2000 * any + 4000 * none;
}

// Two halves of a block with a barrier each, then a producer that only arrives.
__global__ void named(int* out) {
  __shared__ int box[128];
  const int t = threadIdx.x, half = t / 64;
  box[t] = t;
  asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
  int value = box[half * 64 + 63 - t % 64];
  __syncthreads();
  if (half == 0) {
    box[t] = value * 2;
    asm volatile("bar.arrive 3, 128;" ::: "memory");
  } else {
    asm volatile("bar.sync 3, 128;" ::: "memory");
    value += box[t - 64];
  }
  out[t] = value;
}

__global__ void early_exit(int* out) {
  if (threadIdx.x >= 70) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}

// __syncwarp() in both sides of a branch is one barrier of the warp.
__global__ void split_syncwarp(int* out) {
  __shared__ int box[32];
  const int t = threadIdx.x;
  if (t < 16) {
    box[t] = t;
    __syncwarp();
    out[t] = box[t + 16];
  } else {
    box[t] = t * 10;
    __syncwarp();
    out[t] = box[t - 16];
  }
}

// Counts are of whole warps, though the last one has 16 threads; one barrier is used again with another
// count.
__global__ void counted(int* out) {
  __shared__ int box[48];
  const int t = threadIdx.x;
  box[t] = t;
  asm volatile("bar.sync 5, 64;" ::: "memory");
  int value = box[47 - t];
  __syncthreads();
  if (t < 32) {
    asm volatile("bar.sync 5, 32;" ::: "memory");
    ++value;
  }
  out[t] = value;
}

int main() {
  Managed<int> data(512), out(128);
  for (int k = 0; k < 512; ++k) data[k] = k;
  reverse_blocks<<<2, 256>>>(data.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int k = 0; k < 512; ++k)
    expect(data[k] == k / 256 * 256 + 255 - k % 256 + 3, "reversal through shared memory");
  reductions<<<1, 96>>>(out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 96; ++t) expect(out[t] == 32 + 1000 + 2000, "barrier reductions");
  named<<<1, 128>>>(out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 128; ++t) {
    const int mirrored = t / 64 * 64 + 63 - t % 64;
    expect(out[t] == (t < 64 ? mirrored : mirrored + 2 * (63 - (t - 64))), "named barriers and arrive");
  }
  std::memset(out.data, 0, 512);
  early_exit<<<1, 128>>>(out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 128; ++t) expect(out[t] == (t < 70), "exited threads are not awaited");
  counted<<<1, 48>>>(out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 48; ++t) expect(out[t] == 47 - t + (t < 32), "barriers that count a partial warp");
  split_syncwarp<<<1, 32>>>(out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 32; ++t)
    expect(out[t] == (t < 16 ? (t + 16) * 10 : t - 16), "__syncwarp in two branches");
  return g_failures;
}
