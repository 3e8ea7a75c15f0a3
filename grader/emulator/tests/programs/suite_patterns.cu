// Patterns of public benchmark suites, each decided by the CUDA programming guide and the PTX memory model.
// Without an argument the right ones run, checked with everything on: they print nothing. With the name of a
// wrong one it runs alone, and the line with WRONG <name> must be told; NOTE <name> marks a line that is
// told, but is no error: hardware allows it, or its answer is right whichever thread comes first.
#include <cooperative_groups.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "check.h"

constexpr int kThreads = 128, kWarp = 32, kRadius = 3;
constexpr unsigned kAll = ~0u;

// ---- sums of a block ----

// As NVIDIA's "Faster Parallel Reductions on Kepler" does: each warp leaves its sum, and the first adds them up.
// Wrong: the place goes by the lane, which every warp has.
template <bool kByWarp>
__global__ void sum_of_block(const int* in, int* out) {
  __shared__ int sums[kWarp];
  const int t = threadIdx.x, lane = t % kWarp;
  int sum = in[t];
  for (int o = kWarp / 2; o > 0; o /= 2) sum += __shfl_xor_sync(kAll, sum, o);
  if (kByWarp) {
    if (lane == 0) sums[t / kWarp] = sum;
  } else {
    sums[lane] = sum;  // WRONG place_of_the_lane
  }
  __syncthreads();
  if (t >= kWarp) return;
  sum = lane < kThreads / kWarp ? sums[lane] : 0;
  for (int o = kWarp / 2; o > 0; o /= 2) sum += __shfl_xor_sync(kAll, sum, o);
  if (lane == 0) *out = sum;
}

// Counts of each lane, in a row for each warp. Wrong: one row for all.
template <bool kByWarp>
__global__ void counts_of_lanes(const int* in, int n, int* out) {
  __shared__ int counts[kThreads];
  const int t = threadIdx.x, mine = kByWarp ? t : t % kWarp;
  counts[t] = 0;
  __syncthreads();
  for (int i = t; i < n; i += kThreads) counts[mine] += in[i] % 2;  // WRONG counts_of_the_lane
  __syncthreads();
  out[t] = counts[t];
}

// ---- stencils ----

// Right: the halo is loaded by the block itself, and a barrier stands before it is used.
template <bool kBarrier>
__global__ void stencil_with_halo(const int* in, int n, int* out) {
  __shared__ int tile[kThreads + 2 * kRadius];
  const int t = threadIdx.x, i = blockIdx.x * kThreads + t;
  const auto at = [&](int k) { return k >= 0 && k < n ? in[k] : 0; };
  tile[t + kRadius] = at(i);
  if (t < kRadius) {
    tile[t] = at(i - kRadius);
    tile[t + kThreads + kRadius] = at(i + kThreads);
  }
  if (kBarrier) __syncthreads();
  int sum = 0;
  for (int o = -kRadius; o <= kRadius; ++o) sum += tile[t + kRadius + o];  // WRONG halo_without_barrier
  if (i < n) out[i] = sum;
}

// A row is shared with the first warp again and again; it is the same each time. Without the second barrier it is
// written while the first warp may still read: a race, although nothing changes.
template <bool kBarrier>
__global__ void row_again(const int* in, int rounds, int* out) {
  __shared__ int row[kWarp];
  const int t = threadIdx.x;
  int sum = 0;
  for (int r = 0; r < rounds; ++r) {
    if (t >= kThreads - kWarp) row[t % kWarp] = in[t];  // WRONG same_values_without_barrier
    __syncthreads();
    if (t < kWarp) sum += row[t];
    if (kBarrier) __syncthreads();
  }
  out[t] = sum;
}

// Right: planes go through registers, the plane in the middle through shared memory, with a barrier on both
// sides of its use.
__global__ void stencil_with_queue(const int* in, int planes, int* out) {
  __shared__ int middle[kThreads];
  const int t = threadIdx.x;
  int behind = in[t], here = in[kThreads + t];
  for (int z = 1; z + 1 < planes; ++z) {
    const int ahead = in[(z + 1) * kThreads + t];
    __syncthreads();
    middle[t] = here;
    __syncthreads();
    out[z * kThreads + t] =
        behind + ahead + middle[(t + 1) % kThreads] + middle[(t + kThreads - 1) % kThreads];
    behind = here;
    here = ahead;
  }
}

// Right: two buffers, exchanged by the host; neighbours in the warp come by shuffles, which all lanes reach.
__global__ void jacobi_with_shuffles(const float* from, float* to, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % kWarp;
  const float own = i < n ? from[i] : 0.0f;
  float left = __shfl_up_sync(kAll, own, 1), right = __shfl_down_sync(kAll, own, 1);
  if (lane == 0) left = i > 0 && i < n ? from[i - 1] : 0.0f;
  if (lane == kWarp - 1) right = i + 1 < n ? from[i + 1] : 0.0f;
  if (i < n) to[i] = 0.5f * (left + right);
}

// Wrong: the second step reads what other blocks write in the first; blocks are not ordered within a launch.
__global__ void two_steps_in_a_launch(float* a, float* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const auto at = [&](const float* x, int k) { return k >= 0 && k < n ? x[k] : 0.0f; };
  b[i] = at(a, i - 1) + at(a, i + 1) + 1.0f;  // WRONG two_steps_in_a_launch
  __syncthreads();
  a[i] = at(b, i - 1) + at(b, i + 1);
}

// ---- mixture of experts: tokens are sorted by expert, each expert's part padded to whole tiles ----

constexpr int kExperts = 8, kTile = 4;

template <bool kBarrier>
__global__ void align_tokens(const int* experts, int tokens, int* sorted, int* starts) {
  __shared__ int counts[kThreads + 1][kExperts], sums[kExperts + 1];
  const int t = threadIdx.x, share = (tokens + kThreads - 1) / kThreads;
  const int first = min(tokens, t * share), last = min(tokens, first + share);
  for (int e = 0; e < kExperts; ++e) counts[t + 1][e] = 0;
  for (int i = first; i < last; ++i) ++counts[t + 1][experts[i]];  // a row of its own each thread
  if (kBarrier) __syncthreads();
  if (t < kExperts) {
    counts[0][t] = 0;
    for (int k = 1; k <= kThreads; ++k) counts[k][t] += counts[k - 1][t];  // WRONG counts_without_barrier
  }
  __syncthreads();
  if (t == 0) {
    sums[0] = 0;
    for (int e = 0; e < kExperts; ++e)
      sums[e + 1] = sums[e] + (counts[kThreads][e] + kTile - 1) / kTile * kTile;
  }
  __syncthreads();
  for (int i = first; i < last; ++i) {
    const int expert = experts[i];
    sorted[sums[expert] + counts[t][expert]] = i;
    ++counts[t][expert];
  }
  if (t <= kExperts) starts[t] = sums[t];
}

// ---- search ----

// Right: all threads that find the key store the same, and who reads it comes behind a barrier or the launch.
__global__ void finds(const int* in, int key, bool* found, int* blocks) {
  __shared__ bool here;
  if (threadIdx.x == 0) here = false;
  __syncthreads();
  if (in[blockIdx.x * blockDim.x + threadIdx.x] % 8 == key) here = *found = true;
  __syncthreads();
  if (threadIdx.x == 0) blocks[blockIdx.x] = here;
}

// Wrong: each stores its own place, and nothing says whose stays. Nobody reads it: this is no update that is lost.
__global__ void finds_place(const int* in, int key, int* place) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (in[i] % 8 == key) *place = i;  // WRONG places_of_matches
}

// ---- breadth-first search, a level a launch ----

struct Graph {
  const int *offsets, *columns;
  int nodes;
};

// Right: several threads may find a node; all write the same distance and the same flag, and what is read in
// this launch is not written in it.
__global__ void bfs_marks(Graph g, const int* frontier, const int* visited, int* next, int* distance) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= g.nodes || !frontier[v]) return;
  for (int e = g.offsets[v]; e < g.offsets[v + 1]; ++e) {
    const int w = g.columns[e];
    if (visited[w]) continue;
    distance[w] = distance[v] + 1;
    next[w] = 1;
  }
}

// A note: the distance is tested and set by plain accesses. The model calls this a race; every order of the
// threads gives the same distances, since all write the same value.
__global__ void bfs_tests_and_sets(Graph g, int level, int* distance, int* changed) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= g.nodes || distance[v] != level) return;
  for (int e = g.offsets[v]; e < g.offsets[v + 1]; ++e) {
    const int w = g.columns[e];
    if (distance[w] == -1) {  // NOTE bfs_tests_and_sets
      distance[w] = level + 1;
      *changed = 1;
    }
  }
}

// Right: a compare-and-swap decides who appends a node, an atomic addition where.
// Wrong: the queue's end is a plain counter.
template <bool kAtomic>
__global__ void bfs_queue(Graph g, int level, const int* queue, int length, int* next, int* end,
                          int* distance) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= length) return;
  const int v = queue[k];
  for (int e = g.offsets[v]; e < g.offsets[v + 1]; ++e) {
    const int w = g.columns[e];
    if (kAtomic) {
      if (atomicCAS(&distance[w], -1, level + 1) == -1) next[atomicAdd(end, 1)] = w;
    } else if (atomicExch(&distance[w], level + 1) == -1) {
      const int place = (*end)++;  // WRONG queue_without_atomics
      next[place % g.nodes] = w;
    }
  }
}

// ---- top-k: a block's greatest k, one after another by a reduction of pairs ----

template <bool kBarrier>
__global__ void top_k(const int* in, int n, int k, int* out) {
  __shared__ int values[kThreads], places[kThreads], taken;
  const int t = threadIdx.x;
  unsigned long long used = 0;  // which of this thread's values are taken
  for (int round = 0; round < k; ++round) {
    int best = -1, place = -1;
    for (int i = t, j = 0; i < n; i += kThreads, ++j) {
      if (!(used >> j & 1) && in[i] > best) best = in[i], place = i;
    }
    values[t] = best;  // WRONG reduction_without_barrier
    places[t] = place;
    if (kBarrier) __syncthreads();
    for (int o = kThreads / 2; o > 0; o /= 2) {
      if (t < o && values[t + o] > values[t]) {
        values[t] = values[t + o];
        places[t] = places[t + o];
      }
      __syncthreads();
    }
    if (t == 0) {
      out[round] = values[0];
      taken = places[0];
    }
    __syncthreads();
    if (taken % kThreads == t) used |= 1ull << taken / kThreads;
    __syncthreads();
  }
}

// Right: a warp keeps its greatest values in registers, sorted by shuffles.
__global__ void top_of_a_warp(const int* in, int n, int* out) {
  const int lane = threadIdx.x;
  int best = -1;
  for (int i = lane; i < n; i += kWarp) best = max(best, in[i]);
  for (int size = 2; size <= kWarp; size *= 2) {
    for (int o = size / 2; o > 0; o /= 2) {
      const int other = __shfl_xor_sync(kAll, best, o);
      const bool upper = (lane & o) != 0, down = (lane & size) == 0;
      best = upper == down ? min(best, other) : max(best, other);
    }
  }
  out[lane] = best;
}

// ---- radix sort: one pass of 4 bits, ranks within a warp by matching ----

constexpr int kDigits = 16, kWarps = kThreads / kWarp;

template <bool kRanks>
__global__ void radix_pass(const unsigned* in, int shift, unsigned* out) {
  __shared__ int counts[kWarps][kDigits], starts[kDigits];
  const int t = threadIdx.x, warp = t / kWarp, lane = t % kWarp;
  if (lane < kDigits) counts[warp][lane] = 0;
  __syncwarp();
  const unsigned key = in[t];
  const int digit = key >> shift & (kDigits - 1);
  int rank = 0;
  if (kRanks) {
    const unsigned same = __match_any_sync(kAll, digit);
    rank = __popc(same & ((1u << lane) - 1));
    if (rank == 0) counts[warp][digit] += __popc(same);
  } else {
    rank = counts[warp][digit]++;  // WRONG counts_of_a_warp_without_ranks
  }
  __syncthreads();
  if (t < kDigits) {
    int sum = 0;
    for (int w = 0; w < kWarps; ++w) {
      const int count = counts[w][t];
      counts[w][t] = sum;
      sum += count;
    }
    starts[t] = sum;
  }
  __syncthreads();
  if (t == 0) {
    for (int d = 0, sum = 0; d < kDigits; ++d) {
      const int count = starts[d];
      starts[d] = sum;
      sum += count;
    }
  }
  __syncthreads();
  out[(starts[digit] + counts[warp][digit] + rank) % kThreads] = key;
}

// ---- trees that many threads build at once, as Barnes-Hut does ----

constexpr int kEmpty = -1, kLocked = -2;

// Right: who replaces an empty child by the lock owns it, and frees it behind a fence.
__global__ void insert_into_tree(const int* keys, int n, volatile int* children, int* nodes) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0 || i >= n) return;  // key 0 is the root
  int node = 0;
  while (true) {
    const int side = 2 * node + (keys[i] > keys[node]);
    const int child = children[side];
    if (child == kLocked) continue;
    if (child != kEmpty) {
      node = child;
      continue;
    }
    if (atomicCAS(const_cast<int*>(&children[side]), kEmpty, kLocked) != kEmpty) continue;
    children[2 * i] = children[2 * i + 1] = kEmpty;
    __threadfence();
    children[side] = i;
    atomicAdd(nodes, 1);
    return;
  }
}

// Right: a node waits until both children have their sums (the summary pass); a flag behind a fence says so.
__global__ void sum_of_tree(int n, const int* parent, volatile int* ready, volatile int* sums, int* waits) {
  const int i = n - 1 - (blockIdx.x * blockDim.x + threadIdx.x);
  if (i < 0) return;
  while (ready[i] < waits[i]) {
  }
  __threadfence();
  if (i == 0) return;
  atomicAdd(const_cast<int*>(&sums[parent[i]]), sums[i]);
  __threadfence();
  atomicAdd(const_cast<int*>(&ready[parent[i]]), 1);
}

// ---- warps ----

// Wrong since compute capability 7.0: lanes do not run in step, and volatile orders nothing between them.
__global__ void warp_without_syncwarp(const int* in, int* out) {
  __shared__ volatile int sums[2 * kWarp];
  const int t = threadIdx.x;
  sums[t] = in[t];
  sums[t + kWarp] = 0;
  __syncwarp();
  for (int o = kWarp / 2; o > 0; o /= 2) sums[t] += sums[t + o];  // WRONG warp_without_syncwarp
  if (t == 0) *out = sums[0];
}

// A note: barriers do not wait for threads that have returned.
__global__ void return_before_barrier(const int* in, int n, int* out) {
  __shared__ int values[kThreads];
  const int t = threadIdx.x;
  if (t >= n) return;
  values[t] = in[t];
  __syncthreads();  // NOTE return_before_barrier
  out[t] = values[n - 1 - t];
}

// Wrong: others read what the threads that returned should have loaded.
__global__ void return_before_loading(const int* in, int n, int* out) {
  __shared__ int values[kThreads];
  const int t = threadIdx.x;
  if (t >= n) return;
  values[t] = in[t];
  __syncthreads();
  out[t] = values[kThreads - 1 - t];  // WRONG return_before_loading
}

// ---- the host's part ----

struct Input {
  Managed<int> values{4096}, a{4096}, b{4096}, c{4096}, d{4096};
  Input() {
    for (size_t i = 0; i < values.size; ++i) values[i] = int(i * 2654435761u >> 18) & 0xfff;
  }
};

// A graph in which several nodes of a level have the same neighbour.
struct Ladder {
  static constexpr int nodes = 1000;
  std::vector<int> offset_list{0}, column_list;
  Managed<int> offsets{nodes + 1}, columns{4 * nodes};
  Ladder() {
    for (int v = 0; v < nodes; ++v) {
      for (const int w : {2 * v + 1, 2 * v + 2, 2 * v + 3, v / 2}) {
        if (w < nodes) column_list.push_back(w);
      }
      offset_list.push_back(int(column_list.size()));
    }
    std::copy(offset_list.begin(), offset_list.end(), offsets.data);
    std::copy(column_list.begin(), column_list.end(), columns.data);
  }
  Graph view() const { return {offsets.data, columns.data, nodes}; }
  std::vector<int> distances() const {
    std::vector<int> result(nodes, -1), queue{0};
    result[0] = 0;
    for (size_t k = 0; k < queue.size(); ++k) {
      for (int e = offset_list[queue[k]]; e < offset_list[queue[k] + 1]; ++e) {
        if (result[column_list[e]] != -1) continue;
        result[column_list[e]] = result[queue[k]] + 1;
        queue.push_back(column_list[e]);
      }
    }
    return result;
  }
};

void clear(Managed<int>& memory, int value) {
  CHECK_CUDA(cudaMemset(memory.data, value, memory.size * sizeof(int)));
}

void block_sums(Input& x) {
  sum_of_block<true><<<1, kThreads>>>(x.values.data, x.a.data);
  counts_of_lanes<true><<<1, kThreads>>>(x.values.data, 500, x.b.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  int sum = 0;
  for (int i = 0; i < kThreads; ++i) sum += x.values[i];
  expect(x.a[0] == sum, "a block's sum");
}

void stencils(Input& x) {
  stencil_with_halo<true><<<4, kThreads>>>(x.values.data, 500, x.a.data);
  row_again<true><<<1, kThreads>>>(x.values.data, 4, x.b.data);
  stencil_with_queue<<<1, kThreads>>>(x.values.data, 8, x.b.data);
  auto *from = reinterpret_cast<float*>(x.c.data), *to = reinterpret_cast<float*>(x.d.data);
  CHECK_CUDA(cudaMemset(from, 0, 4096 * sizeof(float)));
  for (int step = 0; step < 4; ++step) {
    jacobi_with_shuffles<<<4, kThreads>>>(from, to, 500);
    std::swap(from, to);
  }
  CHECK_CUDA(cudaDeviceSynchronize());
  int sum = 0;
  for (int o = -kRadius; o <= kRadius; ++o) sum += x.values[130 + o];
  expect(x.a[130] == sum, "a stencil across two blocks");
}

void experts(Input& x) {
  constexpr int tokens = 300;
  for (int i = 0; i < tokens; ++i) x.a[i] = x.values[i] % kExperts;
  clear(x.b, -1);
  align_tokens<true><<<1, kThreads>>>(x.a.data, tokens, x.b.data, x.c.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  int found = 0;
  for (int e = 0; e < kExperts; ++e) {
    for (int k = x.c[e]; k < x.c[e + 1]; ++k) found += x.b[k] >= 0 && x.a[x.b[k]] == e;
  }
  expect(found == tokens, "each token lies with its expert");
}

void searches(Input& x) {
  clear(x.a, 0);
  Managed<bool> found(1);
  finds<<<4, kThreads>>>(x.values.data, 3, found.data, x.a.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(found[0] && x.a[0] == 1 && x.a[3] == 1, "flags of a search");
  const Ladder ladder;
  const std::vector<int> wanted = ladder.distances();
  const int blocks = (Ladder::nodes + kThreads - 1) / kThreads;
  Managed<int> frontier(1024), visited(1024), next(1024), distance(1024), end(1);
  clear(frontier, 0), clear(visited, 0), clear(distance, -1);
  CHECK_CUDA(cudaDeviceSynchronize());
  frontier[0] = visited[0] = 1;
  distance[0] = 0;
  for (bool more = true; more;) {
    clear(next, 0);
    bfs_marks<<<blocks, kThreads>>>(ladder.view(), frontier.data, visited.data, next.data, distance.data);
    CHECK_CUDA(cudaDeviceSynchronize());
    more = false;
    for (int v = 0; v < Ladder::nodes; ++v) {
      frontier[v] = next[v] && !visited[v];
      more |= frontier[v] != 0;
      visited[v] |= frontier[v];
    }
  }
  expect(std::equal(wanted.begin(), wanted.end(), distance.data), "distances by marks");
  clear(distance, -1);
  CHECK_CUDA(cudaDeviceSynchronize());
  distance[0] = frontier[0] = 0;
  for (int level = 0, length = 1; length > 0; ++level) {
    end[0] = 0;
    bfs_queue<true><<<blocks, kThreads>>>(ladder.view(), level, frontier.data, length, next.data, end.data,
                                          distance.data);
    CHECK_CUDA(cudaDeviceSynchronize());
    length = end[0];
    std::copy_n(next.data, length, frontier.data);
  }
  expect(std::equal(wanted.begin(), wanted.end(), distance.data), "distances by a queue");
}

void selections(Input& x) {
  top_k<true><<<1, kThreads>>>(x.values.data, 1000, 10, x.a.data);
  top_of_a_warp<<<1, kWarp>>>(x.values.data, 1000, x.b.data);
  for (int shift = 0; shift < 12; shift += 4) {
    const auto* from = reinterpret_cast<const unsigned*>(shift == 0   ? x.values.data
                                                         : shift == 4 ? x.c.data
                                                                      : x.d.data);
    radix_pass<true>
        <<<1, kThreads>>>(from, shift, reinterpret_cast<unsigned*>(shift == 4 ? x.d.data : x.c.data));
  }
  CHECK_CUDA(cudaDeviceSynchronize());
  std::vector<int> sorted(x.values.data, x.values.data + 1000);
  std::sort(sorted.rbegin(), sorted.rend());
  expect(std::equal(sorted.begin(), sorted.begin() + 10, x.a.data), "the greatest ten");
  expect(std::is_sorted(x.b.data, x.b.data + kWarp, std::greater<>()), "a warp's values are sorted");
  expect(std::is_sorted(x.c.data, x.c.data + kThreads), "three passes sort");
}

void trees() {
  constexpr int n = 600;
  Managed<int> keys(n), children(2 * n), nodes(1), parent(n), ready(n), sums(n), waits(n);
  for (int i = 0; i < n; ++i) keys[i] = int((i + 7) * 40503u % 65521u);
  clear(children, -1), clear(nodes, 0), clear(ready, 0), clear(waits, 0);
  insert_into_tree<<<5, kThreads>>>(keys.data, n, children.data, nodes.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(nodes[0] == n - 1, "each key is in the tree");
  for (int i = 0; i < n; ++i) sums[i] = 1, parent[i] = i == 0 ? 0 : (i - 1) / 2;
  for (int i = 1; i < n; ++i) ++waits[parent[i]];
  sum_of_tree<<<5, kThreads>>>(n, parent.data, ready.data, sums.data, waits.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(sums[0] == n, "the root has the sum of all");
}

void run_one(const std::string& name, Input& x) {
  const Ladder ladder;
  Managed<int> distance(1024), end(2), queue(1024);
  clear(distance, -1), clear(x.a, 0), clear(x.b, 0), clear(end, 0), clear(queue, 0);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 300; ++i) x.c[i] = x.values[i] % kExperts;
  distance[0] = 0;
  for (int v = 1; v < 64; ++v) queue[v] = v;
  const int* in = x.values.data;
  auto *a = reinterpret_cast<float*>(x.a.data), *b = reinterpret_cast<float*>(x.b.data);
  if (name == "place_of_the_lane") sum_of_block<false><<<1, kThreads>>>(in, x.a.data);
  if (name == "counts_of_the_lane") counts_of_lanes<false><<<1, kThreads>>>(in, 500, x.a.data);
  if (name == "halo_without_barrier") stencil_with_halo<false><<<1, kThreads>>>(in, 500, x.a.data);
  if (name == "same_values_without_barrier") row_again<false><<<1, kThreads>>>(in, 4, x.a.data);
  if (name == "two_steps_in_a_launch") two_steps_in_a_launch<<<4, kThreads>>>(a, b, 4 * kThreads);
  if (name == "counts_without_barrier")
    align_tokens<false><<<1, kThreads>>>(x.c.data, 300, x.a.data, x.b.data);
  if (name == "queue_without_atomics")
    bfs_queue<false><<<1, 64>>>(ladder.view(), 0, queue.data, 64, x.a.data, end.data, distance.data);
  if (name == "reduction_without_barrier") top_k<false><<<1, kThreads>>>(in, 1000, 3, x.a.data);
  if (name == "counts_of_a_warp_without_ranks")
    radix_pass<false>
        <<<1, kThreads>>>(reinterpret_cast<const unsigned*>(in), 0, reinterpret_cast<unsigned*>(x.a.data));
  if (name == "warp_without_syncwarp") warp_without_syncwarp<<<1, kWarp>>>(in, x.a.data);
  if (name == "places_of_matches") finds_place<<<4, kThreads>>>(in, 3, x.a.data);
  if (name == "return_before_barrier") return_before_barrier<<<1, kThreads>>>(in, 100, x.a.data);
  if (name == "return_before_loading") return_before_loading<<<1, kThreads>>>(in, 100, x.a.data);
  if (name == "bfs_tests_and_sets") {
    for (int level = 0; level < 12; ++level)
      bfs_tests_and_sets<<<8, kThreads>>>(ladder.view(), level, distance.data, end.data);
  }
  CHECK_CUDA(cudaDeviceSynchronize());
  if (name == "bfs_tests_and_sets") {
    const std::vector<int> wanted = ladder.distances();
    expect(std::equal(wanted.begin(), wanted.end(), distance.data), "distances although threads race");
  }
}

int main(int argc, char** argv) {
  Input x;
  if (argc > 1 && *argv[1] != '\0') {
    run_one(argv[1], x);
    return g_failures;
  }
  block_sums(x);
  stencils(x);
  experts(x);
  searches(x);
  selections(x);
  trees();
  return g_failures;
}
