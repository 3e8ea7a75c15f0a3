// Sort, optimized: by eight bits at a time, one kernel a pass (A. Adinets, D. Merrill, "Onesweep", 2022). All
// four histograms are counted in one read. In a pass a block takes the next tile, ranks its keys in
// registers, tells how many it has of each digit, and a thread a digit looks back at the tiles before; keys
// leave through shared memory, so that neighbours in it are neighbours in the output.
//
// Cost  36·n bytes: one read for the histograms, a read and a write in each of four passes.
#include "warpgrade/sort.h"

#ifndef SORT_LOOK
#define SORT_LOOK 4
#endif

namespace {

constexpr int kBits = 8, kDigits = 1 << kBits, kPasses = 4;
constexpr int kThreads = 256, kWarps = kThreads / 32, kEach = 16, kTile = kThreads * kEach;
constexpr int kLook = SORT_LOOK;
constexpr unsigned kAll = 0xFFFFFFFFu;

// A tile's word for a digit: which run it is of, what the number is, the number.
constexpr unsigned long long kOwn = 1ull << 32, kWhole = 2ull << 32;
__device__ unsigned long long run_bits(unsigned run) {
  return (unsigned long long)(run) << 34;
}

__device__ int digit_of(unsigned key, int pass) {
  return int(key >> (pass * kBits)) & (kDigits - 1);
}

__global__ void __launch_bounds__(kThreads)
    sort_histograms_kernel(const unsigned* keys, int n, unsigned* counts) {
  __shared__ unsigned own[kPasses][kDigits];
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) own[pass][threadIdx.x] = 0;
  __syncthreads();
  for (long long i = blockIdx.x * (long long)(kThreads) + threadIdx.x; i < n;
       i += (long long)(gridDim.x) * kThreads) {
    const unsigned key = keys[i];
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) atomicAdd(&own[pass][digit_of(key, pass)], 1u);
  }
  __syncthreads();
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass)
    atomicAdd(&counts[pass * kDigits + threadIdx.x], own[pass][threadIdx.x]);
}

__device__ unsigned warp_scan(unsigned value) {
#pragma unroll
  for (int k = 1; k < 32; k *= 2) {
    const unsigned before = __shfl_up_sync(kAll, value, k);
    if (int(threadIdx.x % 32) >= k) value += before;
  }
  return value;
}

// What stands before this thread's number in the block.
__device__ unsigned block_scan_before(unsigned value, unsigned* warp_sums) {
  const unsigned upto = warp_scan(value);
  if (threadIdx.x % 32 == 31) warp_sums[threadIdx.x / 32] = upto;
  __syncthreads();
  unsigned before = upto - value;
  for (int w = 0; w < int(threadIdx.x) / 32; ++w) before += warp_sums[w];
  __syncthreads();
  return before;
}

// A block a pass: counts of digits become the places where they begin.
__global__ void __launch_bounds__(kThreads) sort_begins_kernel(unsigned* counts) {
  __shared__ unsigned warp_sums[kWarps];
  unsigned* own = counts + blockIdx.x * kDigits;
  const unsigned value = own[threadIdx.x];
  own[threadIdx.x] = block_scan_before(value, warp_sums);
}

struct Shared {
  unsigned counts[kWarps][kDigits];  // of each warp's keys; then where each warp's keys of a digit begin
  unsigned begins[kDigits];          // in the tile
  unsigned places[kDigits];          // in the output, less begins
  unsigned warp_sums[kWarps];
  unsigned keys[kTile];
  int tile;
};

__device__ unsigned long long word_at(const unsigned long long* words, int tile) {
  return *static_cast<const volatile unsigned long long*>(words + (long long)(tile)*kDigits + threadIdx.x);
}

// By a thread a digit: how many keys of it stand in all tiles before. It asks kLook of them at once: asked
// one after the other, L2's time to answer would be most of a pass.
__device__ unsigned look_back(unsigned long long* words, int tile, unsigned run, unsigned own) {
  volatile unsigned long long* at = words + (long long)(tile)*kDigits + threadIdx.x;
  *at = run_bits(run) | (tile == 0 ? kWhole : kOwn) | own;
  unsigned before = 0;
  bool is_whole = false;
  for (int nearest = tile - 1; nearest >= 0 && !is_whole; nearest -= kLook) {
    unsigned long long seen[kLook];
#pragma unroll
    for (int k = 0; k < kLook; ++k)
      seen[k] =
          nearest >= k ? word_at(words, nearest - k) : run_bits(run) | kWhole;  // 0 is before the first tile
#pragma unroll
    for (int k = 0; k < kLook; ++k) {
      if (is_whole) break;
      while (seen[k] >> 34 != run) seen[k] = word_at(words, nearest - k);
      before += unsigned(seen[k]);
      is_whole = (seen[k] & kWhole) != 0;
    }
  }
  if (tile > 0) *at = run_bits(run) | kWhole | (before + own);
  return before;
}

// The rank of each key among its warp's keys of that digit, in order; counts become how many there are.
__device__ void rank_keys(const unsigned (&keys)[kEach], int count, int pass, unsigned* counts,
                          unsigned (&ranks)[kEach]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const bool has_key = k * 32 + lane < count;
    const int digit = has_key ? digit_of(keys[k], pass) : kDigits;
    const unsigned same = __match_any_sync(kAll, digit);
    const unsigned before = has_key ? counts[digit] : 0;
    __syncwarp();
    if (has_key && __ffs(int(same)) - 1 == lane) counts[digit] = before + __popc(same);
    __syncwarp();
    ranks[k] = before + __popc(same & ((1u << lane) - 1));
  }
}

__global__ void __launch_bounds__(kThreads)
    sort_pass_kernel(const unsigned* keys, int n, int pass, unsigned run, const unsigned* begins,
                     unsigned long long* words, int* next, unsigned* moved) {
  __shared__ Shared s;
  if (threadIdx.x == 0) s.tile = atomicAdd(next, 1);
#pragma unroll
  for (int w = 0; w < kWarps; ++w) s.counts[w][threadIdx.x] = 0;
  __syncthreads();
  const int tile = s.tile, warp = threadIdx.x / 32, lane = threadIdx.x % 32, digit = threadIdx.x;
  const long long first = (long long)(tile)*kTile + warp * (32 * kEach);
  const int count = int(min((long long)(32 * kEach), max(0ll, n - first)));
  unsigned own[kEach], ranks[kEach];
#pragma unroll
  for (int k = 0; k < kEach; ++k) own[k] = k * 32 + lane < count ? keys[first + k * 32 + lane] : 0;
  rank_keys(own, count, pass, s.counts[warp], ranks);
  __syncthreads();
  unsigned total = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    const unsigned of_warp = s.counts[w][digit];
    s.counts[w][digit] = total;
    total += of_warp;
  }
  s.begins[digit] = block_scan_before(total, s.warp_sums);
  s.places[digit] = begins[digit] + look_back(words, tile, run, total) - s.begins[digit];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const int of = digit_of(own[k], pass);
    if (k * 32 + lane < count) s.keys[s.begins[of] + s.counts[warp][of] + ranks[k]] = own[k];
  }
  __syncthreads();
  const int in_tile = int(min((long long)(kTile), n - (long long)(tile)*kTile));
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const int i = k * kThreads + threadIdx.x;
    if (i < in_tile) moved[s.places[digit_of(s.keys[i], pass)] + i] = s.keys[i];
  }
}

}  // namespace

struct SortPlan {
  int tiles = 0, blocks = 0;
  unsigned run = 0;  // words of an earlier one say nothing
  unsigned* counts = nullptr;
  unsigned long long* words = nullptr;
  int* next = nullptr;
  unsigned* other = nullptr;
};

cudaError_t sort_plan(int n, SortPlan** plan, cudaStream_t stream) {
  *plan = new SortPlan;
  SortPlan& p = **plan;
  p.tiles = (n + kTile - 1) / kTile;
  int device = 0, multiprocessors = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  p.blocks = p.tiles < 8 * multiprocessors ? p.tiles : 8 * multiprocessors;
  const size_t word_bytes = size_t(p.tiles) * kDigits * sizeof(unsigned long long);
  // The counters of tiles stand behind the histograms: both are cleared at once.
  const size_t count_bytes = kPasses * (kDigits + 1) * sizeof(unsigned);
  cudaError_t error = cudaMalloc(&p.counts, count_bytes);
  if (error == cudaSuccess) error = cudaMalloc(&p.words, word_bytes);
  if (error == cudaSuccess) error = cudaMalloc(&p.other, n * sizeof(unsigned));
  if (error == cudaSuccess) error = cudaMemsetAsync(p.words, 0, word_bytes, stream);
  p.next = reinterpret_cast<int*>(p.counts + kPasses * kDigits);
  return error;
}

cudaError_t sort_run(const unsigned* keys, int n, unsigned* sorted, SortPlan* plan, cudaStream_t stream) {
  cudaMemsetAsync(plan->counts, 0, kPasses * (kDigits + 1) * sizeof(unsigned), stream);
  sort_histograms_kernel<<<plan->blocks, kThreads, 0, stream>>>(keys, n, plan->counts);
  sort_begins_kernel<<<kPasses, kThreads, 0, stream>>>(plan->counts);
  const unsigned* from = keys;
  for (int pass = 0; pass < kPasses; ++pass) {
    unsigned* to = pass % 2 == 0 ? plan->other : sorted;
    plan->run = plan->run % ((1u << 30) - 1) + 1;  // 30 bits, never 0
    sort_pass_kernel<<<plan->tiles, kThreads, 0, stream>>>(
        from, n, pass, plan->run, plan->counts + pass * kDigits, plan->words, plan->next + pass, to);
    from = to;
  }
  return cudaGetLastError();
}

void sort_free(SortPlan* plan) {
  if (plan != nullptr) {
    cudaFree(plan->counts);
    cudaFree(plan->words);
    cudaFree(plan->other);
  }
  delete plan;
}
