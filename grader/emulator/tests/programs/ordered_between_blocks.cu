// Correct kernels whose blocks meet through global memory, and loads of memory that only looks unwritten.
// Checked with everything on, they print nothing.
#include <cooperative_groups.h>

#include <cuda/atomic>

#include "check.h"

namespace cg = cooperative_groups;

constexpr int kThreads = 128;

__device__ int sum_of_block(int value) {
  __shared__ int sums[kThreads];
  const int t = threadIdx.x;
  __syncthreads();
  sums[t] = value;
  __syncthreads();
  for (int o = kThreads / 2; o > 0; o /= 2) {
    if (t < o) sums[t] += sums[t + o];
    __syncthreads();
  }
  return sums[0];
}

__device__ unsigned blocks_done;

// The block that comes last sums what the others left.
__global__ void last_block_sums(const int* in, int n, int* partial, int* out) {
  __shared__ bool is_last;
  int sum = 0;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += gridDim.x * kThreads) sum += in[i];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  int total = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += kThreads) total += partial[i];
  total = sum_of_block(total);
  if (threadIdx.x == 0) *out = total;
}

// Each block waits for the sum of those before it.
__global__ void running_sums(const int* in, int* out, volatile int* is_known, volatile int* sum_until) {
  const int b = blockIdx.x, sum = sum_of_block(in[b * kThreads + threadIdx.x]);
  if (threadIdx.x != 0) return;
  int before = 0;
  if (b > 0) {
    while (is_known[b - 1] == 0) {
    }
    __threadfence();
    before = sum_until[b - 1];
  }
  sum_until[b] = before + sum;
  __threadfence();
  is_known[b] = 1;
  out[b] = before + sum;
}

__global__ void lock_of_each_block(int* lock, int* count) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  *count += 1;
  __threadfence();
  atomicExch(lock, 0);
}

__global__ void release_and_acquire(int* flag, int* data, int* out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  const int t = threadIdx.x;
  if (blockIdx.x == 0) {
    data[t] = t;
    __syncthreads();
    if (t == 0) ready.store(1, cuda::std::memory_order_release);
    return;
  }
  if (t == 0) {
    while (ready.load(cuda::std::memory_order_acquire) == 0) {
    }
  }
  __syncthreads();
  out[blockIdx.x * kThreads + t] = data[kThreads - 1 - t];
}

__global__ void steps_of_a_grid(int* from, int* to, int n, int steps) {
  const auto grid = cg::this_grid();
  const int i = int(grid.thread_rank());
  for (int k = 0; k < steps; ++k) {
    if (i < n) to[i] = from[(i + 1) % n] + from[(i + n - 1) % n];
    grid.sync();
    int* const other = from;
    from = to;
    to = other;
  }
}

__global__ void places_from_a_counter(const int* in, int n, int* count, int* items) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= n || in[i] % 3 != 0) return;
  const auto group = cg::coalesced_threads();
  int first = 0;
  if (group.thread_rank() == 0) first = atomicAdd(count, int(group.size()));
  items[group.shfl(first, 0) + group.thread_rank()] = in[i];
}

__global__ void keys_of_a_table(const int* keys, int n, int* table, int* values, int size) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= n) return;
  for (unsigned at = keys[i] * 2654435761u % size;; at = (at + 1) % size) {
    const int old = atomicCAS(&table[at], -1, keys[i]);
    if (old == -1) values[at] = keys[i] * 2;
    if (old == -1 || old == keys[i]) return;
  }
}

__global__ void greatest_of_floats(const int* in, float* greatest) {
  const auto value = float(in[blockIdx.x * kThreads + threadIdx.x]);
  int* const bits = reinterpret_cast<int*>(greatest);
  for (int seen = *bits; __int_as_float(seen) < value;) {
    const int old = atomicCAS(bits, seen, __float_as_int(value));
    if (old == seen) return;
    seen = old;
  }
}

__global__ void same_value_from_blocks(const int* in, int* changed) {
  if (in[blockIdx.x * kThreads + threadIdx.x] >= 0) *changed = 1;
}

__global__ void neighbouring_halves(short* out) {
  out[blockIdx.x + gridDim.x * threadIdx.x] = short(blockIdx.x);
}

__global__ void items_of_a_queue(int* next, int n, const int* in, int* out) {
  __shared__ int item;
  while (true) {
    if (threadIdx.x == 0) item = atomicAdd(next, 1);
    __syncthreads();
    const int k = item;
    __syncthreads();
    if (k >= n) return;
    out[k * kThreads + threadIdx.x] = in[k] + 1;
  }
}

__global__ void copy(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i];
}

struct Padded {
  char letter;
  double number;
};

__global__ void write_members(Padded* out) {
  out[threadIdx.x].letter = 'a';
  out[threadIdx.x].number = 1;
}
__global__ void copy_structs(const Padded* in, Padded* out) {
  out[threadIdx.x] = in[threadIdx.x];
}

// Bytes between the members of a struct are nobody's, and are copied with it.
void copy_padding() {
  Padded *from = nullptr, *to = nullptr;
  CHECK_CUDA(cudaMalloc(&from, 64 * sizeof(Padded)));
  CHECK_CUDA(cudaMalloc(&to, 64 * sizeof(Padded)));
  write_members<<<1, 64>>>(from);
  copy_structs<<<1, 64>>>(from, to);
  CHECK_CUDA(cudaFree(from));
  CHECK_CUDA(cudaFree(to));
}

__global__ void copy_rows(const char* in, size_t pitch, int* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] =
      reinterpret_cast<const int*>(in + blockIdx.x * pitch)[threadIdx.x];
}

void read_pitched_rows(const int* host, int* out) {
  constexpr int columns = 20, rows = 10;
  char* memory = nullptr;
  size_t pitch = 0;
  CHECK_CUDA(cudaMallocPitch(&memory, &pitch, columns * sizeof(int), rows));
  CHECK_CUDA(cudaMemcpy2D(memory, pitch, host, columns * sizeof(int), columns * sizeof(int), rows,
                          cudaMemcpyHostToDevice));
  copy_rows<<<rows, columns>>>(memory, pitch, out);
  CHECK_CUDA(cudaFree(memory));
}

void meet_across_blocks(Managed<int>& in, Managed<int>& out) {
  Managed<int> state(4096), values(4096);
  running_sums<<<32, kThreads>>>(in.data, out.data, state.data, values.data);
  lock_of_each_block<<<64, 32>>>(state.data + 100, state.data + 101);
  release_and_acquire<<<4, kThreads>>>(state.data + 102, values.data, out.data);
  places_from_a_counter<<<32, kThreads>>>(in.data, 4096, state.data + 103, out.data);
  greatest_of_floats<<<8, kThreads>>>(in.data, reinterpret_cast<float*>(state.data + 104));
  same_value_from_blocks<<<16, kThreads>>>(in.data, state.data + 105);
  items_of_a_queue<<<4, kThreads>>>(state.data + 106, 30, in.data, out.data);
  neighbouring_halves<<<7, 64>>>(reinterpret_cast<short*>(values.data));
  CHECK_CUDA(cudaMemset(state.data, -1, state.size * sizeof(int)));
  keys_of_a_table<<<16, kThreads>>>(in.data, 2000, state.data, values.data, 4096);
  CHECK_CUDA(cudaDeviceSynchronize());
}

int main() {
  Managed<int> in(4096), out(4096), partial(64);
  int sum = 0;
  for (size_t i = 0; i < in.size; ++i) sum += in[i] = int(i % 97);
  meet_across_blocks(in, out);
  copy<<<4, 128>>>(in.data, out.data);
  copy<<<128, 4>>>(out.data, out.data + 1024);
  copy_padding();
  read_pitched_rows(in.data, out.data);
  last_block_sums<<<32, kThreads>>>(in.data, int(in.size), partial.data, out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(out[0] == sum, "the last block's sum");
  int n = 1024, steps = 4;
  void* arguments[] = {&in.data, &out.data, &n, &steps};
  CHECK_CUDA(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(steps_of_a_grid), 8, kThreads,
                                         arguments, 0, nullptr));
  CHECK_CUDA(cudaDeviceSynchronize());
  return g_failures;
}
