// Blocks that tell each other of what they have stored: by counters, locks and flags in global memory. `wrong`
// leaves the fence out, or puts it where it orders nothing; `right` has it. PTX ("Causality order") orders a store
// before another block's load only by way of a fence of the device (or a release) behind the store. The guide's
// example of __threadfence() is the last block's sum.
//
// The line of the load carries LOAD with the program's name, that of the store STORE.
#include <cuda/atomic>
#include <string>

#include "check.h"

constexpr int kThreads = 64, kBlocks = 24;

__device__ unsigned blocks_done;

// One thread of each block stores and counts.
enum class Fence { none, before_store, between, behind_count };

template <Fence F>
__global__ void sum_of_last_block(const int* in, int* partial, int* out) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int i = 0; i < kThreads; ++i) sum += in[blockIdx.x * kThreads + i];
    if (F == Fence::before_store) __threadfence();
    partial[blockIdx.x] = sum;  // STORE last_block
    if (F == Fence::between) __threadfence();
    is_last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
    if (F == Fence::behind_count) __threadfence();
  }
  __syncthreads();
  if (!is_last || threadIdx.x != 0) return;
  int total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) total += partial[b];  // LOAD last_block
  *out = total;
}

// Every thread stores; a barrier and the fence of one thread hand the order on.
template <bool kFence>
__global__ void row_of_last_block(const int* in, int* rows, int* out) {
  __shared__ bool is_last;
  const unsigned t = threadIdx.x;
  rows[blockIdx.x * kThreads + t] = 2 * in[blockIdx.x * kThreads + t];  // STORE rows
  __syncthreads();
  if (t == 0) {
    if (kFence) __threadfence();
    is_last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!is_last) return;
  int sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += rows[b * kThreads + t];  // LOAD rows
  out[t] = sum;
}

// The fence of every thread, before the barrier.
__global__ void row_with_fences_of_all(const int* in, int* rows, int* out) {
  __shared__ bool is_last;
  const unsigned t = threadIdx.x;
  rows[blockIdx.x * kThreads + t] = 2 * in[blockIdx.x * kThreads + t];
  __threadfence();
  __syncthreads();
  if (t == 0) is_last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (!is_last) return;
  int sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += rows[b * kThreads + t];
  out[t] = sum;
}

// Another counter without a meaning for the order, and the fence before the one that tells.
__global__ void sum_with_two_counters(const int* in, int* partial, int* out, int* positive) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = in[blockIdx.x * kThreads];
    if (in[blockIdx.x * kThreads] > 0) atomicAdd(positive, 1);
    __threadfence();
    is_last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last || threadIdx.x != 0) return;
  __threadfence();
  int total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) total += partial[b];
  *out = total;
}

enum class LockFence { none, taken, both };

template <LockFence F>
__global__ void spin_lock(int* lock, int* count) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  if (F != LockFence::none) __threadfence();
  const int seen = *count;  // LOAD spin_lock
  *count = seen + 1;        // STORE spin_lock
  if (F == LockFence::both) __threadfence();
  atomicExch(lock, 0);
}

template <bool kFence>
__global__ void lock_of_lanes(int* lock, int* count) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      if (kFence) __threadfence();
      const int seen = *count;  // LOAD lock_of_lanes
      *count = seen + 1;        // STORE lock_of_lanes
      if (kFence) __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

template <bool kFence>
__global__ void exchange_lock(int* lock, int* count) {
  if (threadIdx.x == 0) {
    while (atomicExch(lock, 1) != 0) {
    }
    if (kFence) __threadfence();
  }
  __syncthreads();
  const int seen = count[threadIdx.x];  // LOAD exchange_lock
  count[threadIdx.x] = seen + 1;        // STORE exchange_lock
  __syncthreads();
  if (threadIdx.x == 0) {
    if (kFence) __threadfence();
    atomicExch(lock, 0);
  }
}

// Each block waits for the one before it.
template <bool kFence>
__global__ void chained_sums(const int* in, volatile int* is_known, int* sums) {
  if (threadIdx.x != 0) return;
  const int b = blockIdx.x;
  int before = 0;
  if (b > 0) {
    while (is_known[b - 1] == 0) {
    }
    if (kFence) __threadfence();
    before = sums[b - 1];  // LOAD chained_sums
  }
  sums[b] = before + in[b];  // STORE chained_sums
  if (kFence) __threadfence();
  is_known[b] = 1;
}

template <bool kFence>
__global__ void waits_for_a_counter(int* count, int* data, int* out) {
  if (threadIdx.x != 0) return;
  data[blockIdx.x] = blockIdx.x * 10;  // STORE counted_barrier
  if (kFence) __threadfence_system();
  atomicAdd(count, 1);
  while (atomicAdd(count, 0) < int(gridDim.x)) {
  }
  out[blockIdx.x] = data[(blockIdx.x + 1) % gridDim.x];  // LOAD counted_barrier
}

// An order of libcu++: relaxed, it orders nothing.
template <cuda::std::memory_order kOrder>
__global__ void atomic_of_the_library(int* count, int* partial, int* out) {
  if (threadIdx.x != 0) return;
  cuda::atomic_ref<int, cuda::thread_scope_device> done(*count);
  partial[blockIdx.x] = 3 * blockIdx.x;  // STORE library
  if (done.fetch_add(1, kOrder) != int(gridDim.x) - 1) return;
  int total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) total += partial[b];  // LOAD library
  *out = total;
}

// Right: a table whose places are taken by compare-and-swap; what its taker stores is read by nobody else.
__global__ void places_of_a_table(const int* keys, int n, int* table, int* values, int* taken) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= n) return;
  for (unsigned at = keys[i] * 2654435761u % n;; at = (at + 1) % n) {
    const int old = atomicCAS(&table[at], 0, keys[i] + 1);
    if (old == 0) {
      values[at] = values[at] + 1;
      atomicAdd(taken, 1);
    }
    if (old == 0 || old == keys[i] + 1) return;
  }
}

// Right: a hint, behind a fence, that the search is over. Nobody needs to see it.
__global__ void search_until_found(const int* in, int n, int* next, int* where, int* found) {
  if (threadIdx.x != 0) return;
  const int item = atomicAdd(next, 1);
  if (item >= n || *found != 0 || in[item] < 5) return;
  atomicMin(where, item);
  __threadfence();
  *found = item + 1;
}

// Right: a flag without volatile, which a barrier in the loop makes the compiler load again (Barnes-Hut's sums).
__global__ void flags_between_barriers(int* count, int* flags, int* out) {
  const int b = blockIdx.x;
  if (threadIdx.x == 0) atomicAdd(count, 1);
  bool open = b == 0;
  while (!__syncthreads_or(open)) open = flags[b - 1] != 0;
  if (threadIdx.x != 0) return;
  __threadfence();
  out[b] = b == 0 ? 1 : out[b - 1] + 1;
  __threadfence();
  flags[b] = 1;
  atomicAdd(count, 1);
}

__device__ int root_of(int* parent, int v) {
  int above = parent[v];
  while (above != v) {
    const int next = parent[above];
    if (next != above) parent[v] = next;
    v = above;
    above = next;
  }
  return v;
}

// Right: trees whose paths are shortened by whoever comes along, old and new parents being as good.
__global__ void connected_components(int n, int* parent, int* done) {
  if (threadIdx.x != 0) return;
  atomicAdd(done, 1);
  for (int i = min((blockIdx.x + 1) * kThreads, n - 3) - 1; i >= int(blockIdx.x * kThreads); --i) {
    while (true) {
      const int a = root_of(parent, i), b = root_of(parent, i + 3), low = min(a, b), high = max(a, b);
      if (low == high || atomicCAS(&parent[high], high, low) == high) break;
    }
    root_of(parent, i + 3);
  }
  for (int i = 0; i < n; ++i) root_of(parent, i);
  atomicAdd(done, 1);
}

int main(int, char** argv) {
  Managed<int> in(kBlocks * kThreads), data(kBlocks * kThreads), values(kBlocks * kThreads), out(kThreads),
      state(256);
  for (size_t i = 0; i < in.size; ++i) in[i] = int(i % 7);
  const std::string name = argv[1], form = argv[2];
  const bool wrong = form == "wrong";
  int *x = in.data, *d = data.data, *o = out.data, *s = state.data;
#define LAUNCH(kernel, ...) kernel<<<kBlocks, kThreads>>>(__VA_ARGS__)
  if (name == "last_block") {
    if (form == "wrong") LAUNCH(sum_of_last_block<Fence::none>, x, d, o);
    if (form == "before_store") LAUNCH(sum_of_last_block<Fence::before_store>, x, d, o);
    if (form == "behind_count") LAUNCH(sum_of_last_block<Fence::behind_count>, x, d, o);
    if (form == "right") LAUNCH(sum_of_last_block<Fence::between>, x, d, o);
  } else if (name == "rows") {
    if (wrong) LAUNCH(row_of_last_block<false>, x, d, o);
    if (!wrong) LAUNCH(row_of_last_block<true>, x, d, o);
    if (!wrong) LAUNCH(row_with_fences_of_all, x, d, o);
    if (!wrong) LAUNCH(sum_with_two_counters, x, d, o, s);
  } else if (name == "spin_lock") {
    if (form == "wrong") LAUNCH(spin_lock<LockFence::none>, s, s + 1);
    if (form == "taken") LAUNCH(spin_lock<LockFence::taken>, s, s + 1);
    if (form == "right") LAUNCH(spin_lock<LockFence::both>, s, s + 1);
  } else if (name == "lock_of_lanes") {
    if (wrong) LAUNCH(lock_of_lanes<false>, s, s + 1);
    if (!wrong) LAUNCH(lock_of_lanes<true>, s, s + 1);
  } else if (name == "exchange_lock") {
    if (wrong) LAUNCH(exchange_lock<false>, s, s + 1);
    if (!wrong) LAUNCH(exchange_lock<true>, s, s + 1);
  } else if (name == "chained_sums") {
    if (wrong) LAUNCH(chained_sums<false>, x, s, d);
    if (!wrong) LAUNCH(chained_sums<true>, x, s, d);
  } else if (name == "counted_barrier") {
    if (wrong) waits_for_a_counter<false><<<4, kThreads>>>(s, d, o);
    if (!wrong) waits_for_a_counter<true><<<4, kThreads>>>(s, d, o);
  } else if (name == "library") {
    if (wrong) LAUNCH(atomic_of_the_library<cuda::std::memory_order_relaxed>, s, d, o);
    if (!wrong) LAUNCH(atomic_of_the_library<cuda::std::memory_order_acq_rel>, s, d, o);
  } else if (name == "search") {
    s[2] = 1000;
    LAUNCH(search_until_found, x, int(in.size), s, s + 2, s + 1);
  } else if (name == "flags") {
    LAUNCH(flags_between_barriers, s, s + 64, d);
  } else if (name == "components") {
    for (size_t i = 0; i < data.size; ++i) data[i] = int(i);
    LAUNCH(connected_components, int(data.size), d, s);
  } else if (name == "table") {
    LAUNCH(places_of_a_table, x, int(in.size), d, values.data, s);
  }
  CHECK_CUDA(cudaDeviceSynchronize());
  return g_failures;
}
