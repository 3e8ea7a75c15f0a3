// Wrong: the eight highest bits are never looked at.
//
// Cost  8 passes, each 12·n bytes.
#include "warpgrade/sort.h"

namespace {

constexpr int kBits = 4, kDigits = 1 << kBits, kPasses = 24 / kBits;
constexpr int kThreads = 256, kWarps = kThreads / 32, kTile = 2048;
constexpr unsigned kAll = 0xFFFFFFFFu;

__device__ int digit_of(unsigned key, int pass) {
  return int(key >> (pass * kBits)) & (kDigits - 1);
}

// How often each digit occurs in each tile: counts[digit][tile].
__global__ void __launch_bounds__(kThreads)
    sort_count_kernel(const unsigned* keys, int n, int pass, int tiles, int* counts) {
  __shared__ int own[kDigits];
  if (threadIdx.x < kDigits) own[threadIdx.x] = 0;
  __syncthreads();
  const long long first = blockIdx.x * (long long)(kTile);
  for (long long i = first + threadIdx.x; i < first + kTile && i < n; i += kThreads)
    atomicAdd(&own[digit_of(keys[i], pass)], 1);
  __syncthreads();
  if (threadIdx.x < kDigits) counts[threadIdx.x * (long long)(tiles) + blockIdx.x] = own[threadIdx.x];
}

// One block: counts become the places where each tile's keys of each digit begin.
__global__ void __launch_bounds__(kThreads) sort_places_kernel(int* counts, long long cells) {
  __shared__ int warp_sums[kWarps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int done = 0;
  for (long long first = 0; first < cells; first += kThreads) {
    const long long i = first + threadIdx.x;
    const int own = i < cells ? counts[i] : 0;
    int upto = own;
    for (int k = 1; k < 32; k *= 2) {
      const int before = __shfl_up_sync(kAll, upto, k);
      if (lane >= k) upto += before;
    }
    if (lane == 31) warp_sums[warp] = upto;
    __syncthreads();
    int before = done;
    for (int w = 0; w < kWarps; ++w) {
      if (w < warp) before += warp_sums[w];
      done += warp_sums[w];
    }
    if (i < cells) counts[i] = before + upto - own;
    __syncthreads();
  }
}

// One warp a tile: 32 keys at a time, in order; lanes with one digit stand behind each other.
__global__ void __launch_bounds__(32)
    sort_move_kernel(const unsigned* keys, int n, int pass, int tiles, const int* places, unsigned* moved) {
  __shared__ int next[kDigits];
  const int lane = threadIdx.x;
  if (lane < kDigits) next[lane] = places[lane * (long long)(tiles) + blockIdx.x];
  __syncwarp();
  const long long first = blockIdx.x * (long long)(kTile);
  for (long long i = first + lane; i < first + kTile && i - lane < n; i += 32) {
    const bool has_key = i < n;
    const unsigned key = has_key ? keys[i] : 0;
    const int digit = has_key ? digit_of(key, pass) : kDigits;
    const unsigned same = __match_any_sync(kAll, digit);
    const int place = has_key ? next[digit] + __popc(same & ((1u << lane) - 1)) : 0;
    __syncwarp();
    if (has_key && __ffs(int(same)) - 1 == lane) next[digit] += __popc(same);
    __syncwarp();
    if (has_key) moved[place] = key;
  }
}

}  // namespace

struct SortPlan {
  int tiles = 0;
  int* counts = nullptr;
  unsigned* other = nullptr;
};

cudaError_t sort_plan(int n, SortPlan** plan, cudaStream_t) {
  *plan = new SortPlan;
  (*plan)->tiles = (n + kTile - 1) / kTile;
  const cudaError_t error = cudaMalloc(&(*plan)->counts, size_t((*plan)->tiles) * kDigits * sizeof(int));
  if (error != cudaSuccess) return error;
  return cudaMalloc(&(*plan)->other, n * sizeof(unsigned));
}

cudaError_t sort_run(const unsigned* keys, int n, unsigned* sorted, SortPlan* plan, cudaStream_t stream) {
  const unsigned* from = keys;
  for (int pass = 0; pass < kPasses; ++pass) {
    unsigned* to = pass % 2 == 0 ? plan->other : sorted;  // an even number of passes ends in `sorted`
    sort_count_kernel<<<plan->tiles, kThreads, 0, stream>>>(from, n, pass, plan->tiles, plan->counts);
    sort_places_kernel<<<1, kThreads, 0, stream>>>(plan->counts, (long long)(plan->tiles) * kDigits);
    sort_move_kernel<<<plan->tiles, 32, 0, stream>>>(from, n, pass, plan->tiles, plan->counts, to);
    from = to;
  }
  return cudaGetLastError();
}

void sort_free(SortPlan* plan) {
  if (plan != nullptr) {
    cudaFree(plan->counts);
    cudaFree(plan->other);
  }
  delete plan;
}
