// Blocks that tell each other of what they have stored: by counters, locks and flags in global memory. `wrong`
// leaves the fence out, or puts it where it orders nothing; `unread` has that of the block that stores alone;
// `right` has both. PTX ("Release and Acquire Patterns", "Causality order") orders a store before another block's
// load only by way of a fence of the device (or a release) behind the store, and another (or an acquire) behind the
// operation that saw it. The guide's example of __threadfence() is the last block's sum. It and NVIDIA's sample
// threadFenceReduction have a barrier, and no fence, before the last block reads: they count as right. PyTorch's
// reductions (Reduce.cuh) have the fence there.
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

// One thread counts and reads, with no barrier between.
template <bool kFence>
__global__ void sum_of_last_thread(const int* in, int* partial, int* out) {
  if (threadIdx.x != 0) return;
  partial[blockIdx.x] = in[blockIdx.x * kThreads];  // STORE last_thread
  __threadfence();
  if (atomicInc(&blocks_done, gridDim.x - 1) != gridDim.x - 1) return;
  if (kFence) __threadfence();
  int total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) total += partial[b];  // LOAD last_thread
  *out = total;
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

enum class LockFence { none, taken, given, both };

template <LockFence F>
constexpr bool kTaken = F == LockFence::taken || F == LockFence::both;
template <LockFence F>
constexpr bool kGiven = F == LockFence::given || F == LockFence::both;

template <LockFence F>
__global__ void spin_lock(int* lock, int* count) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  if (kTaken<F>) __threadfence();
  const int seen = *count;  // LOAD spin_lock
  *count = seen + 1;        // STORE spin_lock
  if (kGiven<F>) __threadfence();
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

template <LockFence F>
__global__ void exchange_lock(int* lock, int* count) {
  if (threadIdx.x == 0) {
    while (atomicExch(lock, 1) != 0) {
    }
    if (kTaken<F>) __threadfence();
  }
  __syncthreads();
  const int seen = count[threadIdx.x];  // LOAD exchange_lock
  count[threadIdx.x] = seen + 1;        // STORE exchange_lock
  __syncthreads();
  if (threadIdx.x == 0) {
    if (kGiven<F>) __threadfence();
    atomicExch(lock, 0);
  }
}

// The lock of "CUDA by Example", whose errata added the fences, around the work of a block: in a loop, given back
// by a compare-and-swap or by a store, asked for again together, and around stores alone.
enum class Back { by_exchange, by_compare, by_store };

template <LockFence F, Back B>
__global__ void lock_in_a_loop(int* lock, int* count, int rounds) {
  for (int k = 0; k < rounds; ++k) {
    if (threadIdx.x == 0) {
      while (atomicCAS(lock, 0, 1) != 0) {
      }
      if (kTaken<F>) __threadfence();
    }
    __syncthreads();
    const int seen = count[threadIdx.x];  // LOAD lock_in_a_loop
    count[threadIdx.x] = seen + k;        // STORE lock_in_a_loop
    if (kGiven<F>) __threadfence();
    __syncthreads();
    if (threadIdx.x != 0) continue;
    if (B == Back::by_exchange) atomicExch(lock, 0);
    if (B == Back::by_compare) atomicCAS(lock, 1, 0);
    if (B == Back::by_store) *lock = 0;
  }
}

template <LockFence F>
__global__ void lock_asked_for_together(int* lock, int* count) {
  __shared__ bool has_lock;
  for (bool done = false; !done;) {
    if (threadIdx.x == 0) has_lock = atomicCAS(lock, 0, 1) == 0;
    __syncthreads();
    if (has_lock) {
      if (kTaken<F>) __threadfence();
      const int seen = count[threadIdx.x];  // LOAD together
      count[threadIdx.x] = seen + 1;        // STORE together
      if (kGiven<F>) __threadfence();
      __syncthreads();
      if (threadIdx.x == 0) atomicExch(lock, 0);
      done = true;
    }
    __syncthreads();
  }
}

template <LockFence F>
__global__ void stores_in_a_lock(int* lock, int* last) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    if (kTaken<F>) __threadfence();
  }
  __syncthreads();
  last[threadIdx.x] = blockIdx.x;  // LOAD stores STORE stores
  __syncthreads();
  if (threadIdx.x == 0) {
    if (kGiven<F>) __threadfence();
    atomicExch(lock, 0);
  }
}

// Each block waits for the one before it.
template <bool kFence, bool kReads>
__global__ void chained_sums(const int* in, volatile int* is_known, int* sums) {
  if (threadIdx.x != 0) return;
  const int b = blockIdx.x;
  int before = 0;
  if (b > 0) {
    while (is_known[b - 1] == 0) {
    }
    if (kReads) __threadfence();
    before = sums[b - 1];  // LOAD chained_sums
  }
  sums[b] = before + in[b];  // STORE chained_sums
  if (kFence) __threadfence();
  is_known[b] = 1;
}

template <bool kFence, bool kReads>
__global__ void waits_for_a_counter(int* count, int* data, int* out) {
  if (threadIdx.x != 0) return;
  data[blockIdx.x] = blockIdx.x * 10;  // STORE counted_barrier
  if (kFence) __threadfence_system();
  atomicAdd(count, 1);
  while (atomicAdd(count, 0) < int(gridDim.x)) {
  }
  if (kReads) __threadfence();
  out[blockIdx.x] = data[(blockIdx.x + 1) % gridDim.x];  // LOAD counted_barrier
}

// Vyukov's bounded queue: a place's turn says whether it may be filled or emptied. Every second block takes out.
template <bool kReads>
__global__ void bounded_queue(int* tail, int* head, volatile int* turns, int* places, int* out) {
  constexpr int kPlaces = 8;
  if (threadIdx.x != 0) return;
  const bool puts = blockIdx.x % 2 == 0;
  const int ticket = atomicAdd(puts ? tail : head, 1), at = ticket % kPlaces, turn = ticket / kPlaces * 2;
  while (turns[at] != (puts ? turn : turn + 1)) {
  }
  if (kReads || puts) __threadfence();
  if (puts) {
    places[at] = int(blockIdx.x) + 1;  // STORE bounded_queue
  } else {
    out[ticket] = places[at];  // LOAD bounded_queue
  }
  __threadfence();
  turns[at] = puts ? turn + 1 : turn + 2;
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
  const bool wrong = form == "wrong", right = form == "right", unread = form == "unread";
  int *x = in.data, *d = data.data, *o = out.data, *s = state.data;
#define LAUNCH(kernel, ...) kernel<<<kBlocks, kThreads>>>(__VA_ARGS__)
#define LAUNCH_LOCK(kernel)                                           \
  do {                                                                \
    if (wrong) LAUNCH(kernel<LockFence::none>, s, s + 64);            \
    if (form == "taken") LAUNCH(kernel<LockFence::taken>, s, s + 64); \
    if (unread) LAUNCH(kernel<LockFence::given>, s, s + 64);          \
    if (right) LAUNCH(kernel<LockFence::both>, s, s + 64);            \
  } while (false)
#define LAUNCH_LOOP(back)                                                       \
  do {                                                                          \
    if (wrong) LAUNCH((lock_in_a_loop<LockFence::none, back>), s, s + 64, 2);   \
    if (unread) LAUNCH((lock_in_a_loop<LockFence::given, back>), s, s + 64, 2); \
    if (right) LAUNCH((lock_in_a_loop<LockFence::both, back>), s, s + 64, 2);   \
  } while (false)
  if (name == "last_block") {
    if (wrong) LAUNCH(sum_of_last_block<Fence::none>, x, d, o);
    if (form == "before_store") LAUNCH(sum_of_last_block<Fence::before_store>, x, d, o);
    if (form == "behind_count") LAUNCH(sum_of_last_block<Fence::behind_count>, x, d, o);
    if (right) LAUNCH(sum_of_last_block<Fence::between>, x, d, o);
  } else if (name == "last_thread") {
    if (unread) LAUNCH(sum_of_last_thread<false>, x, d, o);
    if (right) LAUNCH(sum_of_last_thread<true>, x, d, o);
  } else if (name == "rows") {
    if (wrong) LAUNCH(row_of_last_block<false>, x, d, o);
    if (!wrong) LAUNCH(row_of_last_block<true>, x, d, o);
    if (!wrong) LAUNCH(row_with_fences_of_all, x, d, o);
    if (!wrong) LAUNCH(sum_with_two_counters, x, d, o, s);
  } else if (name == "spin_lock") {
    LAUNCH_LOCK(spin_lock);
  } else if (name == "lock_of_lanes") {
    if (wrong) LAUNCH(lock_of_lanes<false>, s, s + 1);
    if (!wrong) LAUNCH(lock_of_lanes<true>, s, s + 1);
  } else if (name == "exchange_lock") {
    LAUNCH_LOCK(exchange_lock);
  } else if (name == "lock_in_a_loop") {
    LAUNCH_LOOP(Back::by_exchange);
  } else if (name == "given_back_by_compare") {
    LAUNCH_LOOP(Back::by_compare);
  } else if (name == "given_back_by_store") {
    LAUNCH_LOOP(Back::by_store);
  } else if (name == "together") {
    LAUNCH_LOCK(lock_asked_for_together);
  } else if (name == "stores") {
    LAUNCH_LOCK(stores_in_a_lock);
  } else if (name == "chained_sums") {
    if (wrong) LAUNCH((chained_sums<false, false>), x, s, d);
    if (unread) LAUNCH((chained_sums<true, false>), x, s, d);
    if (right) LAUNCH((chained_sums<true, true>), x, s, d);
  } else if (name == "counted_barrier") {
    if (wrong) waits_for_a_counter<false, false><<<4, kThreads>>>(s, d, o);
    if (unread) waits_for_a_counter<true, false><<<4, kThreads>>>(s, d, o);
    if (right) waits_for_a_counter<true, true><<<4, kThreads>>>(s, d, o);
  } else if (name == "bounded_queue") {
    if (unread) LAUNCH(bounded_queue<false>, s, s + 1, s + 64, s + 128, o);
    if (right) LAUNCH(bounded_queue<true>, s, s + 1, s + 64, s + 128, o);
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
