// Sort, optimized: by eight bits at a time, one kernel a pass (A. Adinets, D. Merrill, "Onesweep", 2022).
// All four histograms are counted in one read. In a pass a block takes the next tile and counts its keys'
// digits; as soon as it has told the counts it orders its keys, so that the tiles before it have time to
// answer when a thread a digit looks back at them. Keys leave through shared memory: neighbours in it are
// neighbours in the output.
//
// Cost  36·n bytes: one read for the histograms, a read and a write in each of four passes.
#include "warpgrade/sort.h"

namespace {

constexpr int kBits = 8, kDigits = 1 << kBits, kPasses = 4;
// Of 15 shapes that were timed on an H200 this one was the fastest; three blocks have to fit an SM.
constexpr int kThreads = 384, kWarps = kThreads / 32, kBlocksPerSm = 3;
constexpr int kEach = 16, kTile = kThreads * kEach;  // keys of a thread, of a block
constexpr int kLook = 4;                             // tiles that a thread asks at once
constexpr int kHistogramThreads = 256;
constexpr unsigned kAll = 0xFFFFFFFFu;
static_assert(kThreads >= kDigits);

// A tile's word for a digit: which run it is of, what the number is, the number.
constexpr unsigned long long kOwn = 1ull << 32, kWhole = 2ull << 32;
__device__ unsigned long long run_bits(unsigned run) {
  return (unsigned long long)(run) << 34;
}

__device__ int digit_of(unsigned key, int pass) {
  return int(key >> (pass * kBits)) & (kDigits - 1);
}

__device__ void count_key(unsigned (*own)[kDigits], unsigned key) {
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) atomicAdd(&own[pass][digit_of(key, pass)], 1u);
}

__global__ void __launch_bounds__(kHistogramThreads)
    sort_histograms_kernel(const unsigned* keys, int n, unsigned* counts) {
  __shared__ unsigned own[kPasses][kDigits];
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) own[pass][threadIdx.x] = 0;
  __syncthreads();
  const int vectors = n / 4, first = blockIdx.x * kHistogramThreads + threadIdx.x,
            step = gridDim.x * kHistogramThreads;
#pragma unroll 2
  for (int i = first; i < vectors; i += step) {
    const uint4 four = __ldcs(reinterpret_cast<const uint4*>(keys) + i);
    count_key(own, four.x);
    count_key(own, four.y);
    count_key(own, four.z);
    count_key(own, four.w);
  }
  for (int i = vectors * 4 + first; i < n; i += step) count_key(own, keys[i]);
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

// What stands before this digit's number, for the first kDigits threads; all threads of the block call it.
__device__ unsigned digits_scan_before(unsigned value, unsigned* warp_sums) {
  const unsigned upto = warp_scan(value);
  if (threadIdx.x < kDigits && threadIdx.x % 32 == 31) warp_sums[threadIdx.x / 32] = upto;
  __syncthreads();
  unsigned before = upto - value;
#pragma unroll
  for (int w = 0; w < kDigits / 32; ++w)
    if (w < int(threadIdx.x) / 32) before += warp_sums[w];
  return before;
}

// A block a pass: counts of digits become the places where they begin.
__global__ void __launch_bounds__(kDigits) sort_begins_kernel(unsigned* counts) {
  __shared__ unsigned warp_sums[kDigits / 32];
  unsigned* own = counts + blockIdx.x * kDigits;
  own[threadIdx.x] = digits_scan_before(own[threadIdx.x], warp_sums);
}

struct Shared {
  unsigned counts[kWarps][kDigits];  // of each warp's keys; then where each warp's next key of a digit goes
  unsigned keys[kTile];
  unsigned places[kDigits];  // of the tile's first key of a digit in the output, less its place in the tile
  unsigned warp_sums[kDigits / 32];
  int tile;
};

__device__ unsigned long long word_at(const unsigned long long* words, int tile) {
  return *static_cast<const volatile unsigned long long*>(words + (long long)(tile)*kDigits + threadIdx.x);
}

// By a thread a digit: how many keys of it stand in all tiles before. It asks kLook of them at once: asked
// one after the other, L2's time to answer would be most of a pass.
__device__ unsigned look_back(const unsigned long long* words, int tile, unsigned run) {
  unsigned before = 0;
  bool is_whole = false;
  for (int nearest = tile - 1; nearest >= 0 && !is_whole; nearest -= kLook) {
    unsigned long long seen[kLook];
#pragma unroll
    for (int k = 0; k < kLook; ++k)  // 0 is before the first tile
      seen[k] = nearest >= k ? word_at(words, nearest - k) : run_bits(run) | kWhole;
#pragma unroll
    for (int k = 0; k < kLook; ++k) {
      if (is_whole) break;
      while (seen[k] >> 34 != run) seen[k] = word_at(words, nearest - k);
      before += unsigned(seen[k]);
      is_whole = (seen[k] & kWhole) != 0;
    }
  }
  return before;
}

// The lanes of the warp whose keys have this digit. Eight votes take less time than __match_any_sync
// (1791 us instead of 2832 for 64 M keys on an H200).
__device__ unsigned lanes_with(int digit) {
  unsigned same = kAll;
#pragma unroll
  for (int bit = 0; bit < kBits; ++bit) {
    const bool is_set = (digit >> bit & 1) != 0;
    const unsigned set = __ballot_sync(kAll, is_set);
    same &= is_set ? set : ~set;
  }
  return same;
}

// Puts each key where it belongs in the tile; `next` is the place of the warp's next key of a digit.
__device__ void place_keys(const unsigned (&keys)[kEach], int pass, unsigned* next, unsigned* placed) {
  const int lane = threadIdx.x % 32;
  const unsigned lower = (1u << lane) - 1;
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const int digit = digit_of(keys[k], pass);
    const unsigned same = lanes_with(digit);
    const int leader = 31 - __clz(int(same));
    unsigned first = 0;
    if (lane == leader) first = atomicAdd(&next[digit], unsigned(__popc(same)));
    first = __shfl_sync(kAll, first, leader);
    placed[first + __popc(same & lower)] = keys[k];
  }
}

__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    sort_pass_kernel(const unsigned* keys, int n, int pass, unsigned run, const unsigned* begins,
                     unsigned long long* words, int* next, unsigned* moved) {
  __shared__ Shared s;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, digit = threadIdx.x;
  if (threadIdx.x == 0) s.tile = atomicAdd(next, 1);
#pragma unroll
  for (int i = lane; i < kDigits; i += 32) s.counts[warp][i] = 0;
  __syncthreads();
  const int tile = s.tile;
  const long long begin = (long long)(tile)*kTile, first = begin + warp * (32 * kEach);
  const int in_tile = int(min((long long)(kTile), n - begin));
  unsigned own[kEach];
  if (in_tile == kTile) {
#pragma unroll
    for (int k = 0; k < kEach; ++k) own[k] = __ldcs(keys + first + k * 32 + lane);
  } else {  // keys that are not there are the greatest: they come last and are not stored
#pragma unroll
    for (int k = 0; k < kEach; ++k) own[k] = first + k * 32 + lane < n ? keys[first + k * 32 + lane] : kAll;
  }
#pragma unroll
  for (int k = 0; k < kEach; ++k) atomicAdd(&s.counts[warp][digit_of(own[k], pass)], 1u);
  __syncthreads();
  unsigned total = 0;
  if (digit < kDigits) {
#pragma unroll
    for (int w = 0; w < kWarps; ++w) total += s.counts[w][digit];
    words[(long long)(tile)*kDigits + digit] = run_bits(run) | (tile == 0 ? kWhole : kOwn) | total;
  }
  const unsigned place = digits_scan_before(total, s.warp_sums);
  if (digit < kDigits) {
    unsigned at = place;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      const unsigned of_warp = s.counts[w][digit];
      s.counts[w][digit] = at;
      at += of_warp;
    }
  }
  __syncthreads();
  place_keys(own, pass, s.counts[warp], s.keys);
  if (digit < kDigits) {
    const unsigned before = look_back(words, tile, run);
    if (tile > 0) words[(long long)(tile)*kDigits + digit] = run_bits(run) | kWhole | (before + total);
    s.places[digit] = begins[digit] + before - place;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const int i = k * kThreads + threadIdx.x;
    if (i < in_tile) {
      const unsigned key = s.keys[i];
      moved[s.places[digit_of(key, pass)] + i] = key;
    }
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
  const int wanted = (n + 4 * kHistogramThreads - 1) / (4 * kHistogramThreads);
  p.blocks = wanted < 8 * multiprocessors ? wanted : 8 * multiprocessors;
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
  sort_histograms_kernel<<<plan->blocks, kHistogramThreads, 0, stream>>>(keys, n, plan->counts);
  sort_begins_kernel<<<kPasses, kDigits, 0, stream>>>(plan->counts);
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
