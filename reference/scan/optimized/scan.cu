// Scan, optimized: one pass. A block takes the next tile, scans it in registers, tells the tile's own sum,
// looks back at the tiles before it until one knows its whole running sum, and writes (decoupled look-back:
// D. Merrill, M. Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016).
//
// Cost  3 additions a number; 8·n bytes. Tiles are taken in order by a counter, so a tile that is waited for
// is always at work already.
#include "warpgrade/scan.h"

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32, kVectors = 8, kEach = 4 * kVectors;
constexpr int kTile = kThreads * kEach, kWarpPart = 32 * kEach;  // numbers of a block, of a warp
constexpr unsigned kAll = 0xFFFFFFFFu;

// A tile's word: what its lower half is, in the upper half.
constexpr unsigned kNothing = 0, kOwnSum = 1, kWholeSum = 2;
__device__ unsigned long long word_of(unsigned what, int sum) {
  return (unsigned long long)(what) << 32 | (unsigned)(sum);
}

// Accesses that every SM sees: a word is one piece, so nothing else has to be ordered with it.
__device__ void tell(unsigned long long* word, unsigned long long value) {
  *static_cast<volatile unsigned long long*>(word) = value;
}
__device__ unsigned long long hear(const unsigned long long* word) {
  return *static_cast<const volatile unsigned long long*>(word);
}

__device__ int warp_scan(int value) {
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const int before = __shfl_up_sync(kAll, value, distance);
    if (int(threadIdx.x % 32) >= distance) value += before;
  }
  return value;
}

// The word of a tile; 0 is in front of the first tile.
__device__ unsigned long long ask(const unsigned long long* words, int tile) {
  return tile >= 0 ? hear(words + tile) : word_of(kWholeSum, 0);
}

// By one warp: the sum of all tiles before `tile`, 32 of them a look, a tile a lane. Those that have told
// nothing yet are asked again.
__device__ int sum_before(const unsigned long long* words, int tile) {
  int sum = 0;
  for (int other = tile - 1 - int(threadIdx.x % 32); true; other -= 32) {
    unsigned long long seen = ask(words, other);
    while (__any_sync(kAll, seen >> 32 == kNothing)) seen = ask(words, other);
    const unsigned whole = __ballot_sync(kAll, seen >> 32 == kWholeSum);
    const unsigned upto = whole ^ (whole - 1);  // the lanes up to the nearest whole sum; all if there is none
    sum += __reduce_add_sync(kAll, upto >> threadIdx.x % 32 & 1 ? int(unsigned(seen)) : 0);
    if (whole != 0) return sum;
  }
}

__global__ void __launch_bounds__(kThreads)
    scan_clear_kernel(unsigned long long* words, int tiles, int* next) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < tiles) words[i] = kNothing;
  if (i == 0) *next = 0;
}

// Vector v of a lane holds four neighbouring numbers; the warp's part is kVectors runs of 128 numbers.
__device__ void load(const int* in, long long first, int n, int4 (&values)[kVectors]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const long long i = first + v * 128 + lane * 4;
    if (i + 4 <= n) {
      values[v] = __ldcs(reinterpret_cast<const int4*>(in + i));
    } else {
      values[v].x = i < n ? in[i] : 0;
      values[v].y = i + 1 < n ? in[i + 1] : 0;
      values[v].z = i + 2 < n ? in[i + 2] : 0;
      values[v].w = 0;
    }
  }
}

__device__ void store(int* out, long long first, int n, const int4 (&values)[kVectors]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const long long i = first + v * 128 + lane * 4;
    if (i + 4 <= n) {
      __stcs(reinterpret_cast<int4*>(out + i), values[v]);
    } else {
      if (i < n) out[i] = values[v].x;
      if (i + 1 < n) out[i + 1] = values[v].y;
      if (i + 2 < n) out[i + 2] = values[v].z;
    }
  }
}

// The warp's numbers become their running sums within the warp's part; returns the part's sum.
__device__ int scan_part(int4 (&values)[kVectors]) {
  int done = 0;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    int4& four = values[v];
    four.y += four.x;
    four.z += four.y;
    four.w += four.z;
    const int upto = warp_scan(four.w), before = done + upto - four.w;
    four.x += before;
    four.y += before;
    four.z += before;
    four.w += before;
    done += __shfl_sync(kAll, upto, 31);
  }
  return done;
}

__global__ void __launch_bounds__(kThreads)
    scan_one_pass_kernel(const int* in, int n, int* out, unsigned long long* words, int* next) {
  __shared__ int warp_sums[kWarps], taken, before_tile;
  if (threadIdx.x == 0) taken = atomicAdd(next, 1);
  __syncthreads();
  const int tile = taken, warp = threadIdx.x / 32;
  const long long first = (long long)(tile)*kTile + warp * kWarpPart;
  int4 values[kVectors];
  load(in, first, n, values);
  const int part = scan_part(values);
  if (threadIdx.x % 32 == 0) warp_sums[warp] = part;
  __syncthreads();
  int before = 0, total = 0;
#pragma unroll
  for (int other = 0; other < kWarps; ++other) {
    if (other < warp) before += warp_sums[other];
    total += warp_sums[other];
  }
  if (warp == 0) {
    if (threadIdx.x == 0) tell(words + tile, word_of(tile == 0 ? kWholeSum : kOwnSum, total));
    const int sum = sum_before(words, tile);
    if (threadIdx.x == 0) {
      if (tile > 0) tell(words + tile, word_of(kWholeSum, sum + total));
      before_tile = sum;
    }
  }
  __syncthreads();
  before += before_tile;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    values[v].x += before;
    values[v].y += before;
    values[v].z += before;
    values[v].w += before;
  }
  store(out, first, n, values);
}

int tiles_of(int n) {
  return (n + kTile - 1) / kTile;
}

}  // namespace

struct ScanPlan {
  unsigned long long* words = nullptr;  // a tile each, and the counter behind them
};

cudaError_t scan_plan(int n, ScanPlan** plan, cudaStream_t) {
  *plan = new ScanPlan;
  return cudaMalloc(&(*plan)->words, (tiles_of(n) + 1) * sizeof(unsigned long long));
}

cudaError_t scan_run(const int* in, int n, int* out, ScanPlan* plan, cudaStream_t stream) {
  const int tiles = tiles_of(n);
  int* next = reinterpret_cast<int*>(plan->words + tiles);
  scan_clear_kernel<<<(tiles + kThreads - 1) / kThreads, kThreads, 0, stream>>>(plan->words, tiles, next);
  scan_one_pass_kernel<<<tiles, kThreads, 0, stream>>>(in, n, out, plan->words, next);
  return cudaGetLastError();
}

void scan_free(ScanPlan* plan) {
  if (plan != nullptr) cudaFree(plan->words);
  delete plan;
}
