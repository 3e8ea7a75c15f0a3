// Operations between lanes and threads: shuffles, votes, matches, reductions, barriers.
#include <cooperative_groups.h>

#include "common.h"

namespace {

namespace cg = cooperative_groups;
constexpr unsigned kAll = 0xffffffffu;

__device__ int lane() {
  return static_cast<int>(threadIdx.x & 31);
}
__device__ int value_of(int which = 1) {
  return operand<Kind::s32>(static_cast<int>(threadIdx.x), which);
}

#define KERNEL(name, ...)                                  \
  __global__ void name(unsigned long long* out) {          \
    const int i = static_cast<int>(threadIdx.x);           \
    out[i] = static_cast<unsigned long long>(__VA_ARGS__); \
  }                                                        \
  const Registration register_##name(#name, "bits", Kind::u64, name)

#define SHUFFLES(width)                                                                              \
  KERNEL(shfl_idx_##width, static_cast<unsigned>(__shfl_sync(kAll, value_of(), lane() * 7, width))); \
  KERNEL(shfl_up_##width, static_cast<unsigned>(__shfl_up_sync(kAll, value_of(), 3, width)));        \
  KERNEL(shfl_down_##width, static_cast<unsigned>(__shfl_down_sync(kAll, value_of(), 5, width)));    \
  KERNEL(shfl_xor_##width, static_cast<unsigned>(__shfl_xor_sync(kAll, value_of(), 6, width)))
SHUFFLES(32);
SHUFFLES(16);
SHUFFLES(8);
SHUFFLES(2);

KERNEL(shfl_of_doubles, bits_of(__shfl_xor_sync(kAll, operand<Kind::f64>(i, 1), 9)));
KERNEL(shfl_by_own_distance, static_cast<unsigned>(__shfl_down_sync(kAll, value_of(), lane() & 7)));
KERNEL(ballot, __ballot_sync(kAll, value_of() & 1));
KERNEL(ballot_of_a_part, lane() < 11 ? __ballot_sync(0x7ffu, value_of() > 0) : 0u);
KERNEL(any_and_all, __any_sync(kAll, value_of() == 63) + 2 * __all_sync(kAll, value_of() != 1234567));
KERNEL(match_any, __match_any_sync(kAll, value_of() & 3));
KERNEL(match_any_64, __match_any_sync(kAll, static_cast<unsigned long long>(value_of() & 1) << 40));
__global__ void match_all(unsigned long long* out) {
  int same = 0, other = 0;
  const unsigned a = __match_all_sync(kAll, static_cast<int>(threadIdx.x / 32), &same);
  const unsigned b = __match_all_sync(kAll, static_cast<int>(threadIdx.x / 31), &other);
  out[threadIdx.x] = a + (static_cast<unsigned long long>(b) << 32) + same * 2 + other;
}
const Registration register_match_all("match_all", "bits", Kind::u64, match_all);
KERNEL(redux_add, static_cast<unsigned>(__reduce_add_sync(kAll, value_of())));
KERNEL(redux_min, static_cast<unsigned>(__reduce_min_sync(kAll, value_of())));
KERNEL(redux_max, static_cast<unsigned>(__reduce_max_sync(kAll, value_of())));
KERNEL(redux_min_unsigned, __reduce_min_sync(kAll, static_cast<unsigned>(value_of())));
KERNEL(redux_max_unsigned, __reduce_max_sync(kAll, static_cast<unsigned>(value_of())));
KERNEL(redux_and, __reduce_and_sync(kAll, static_cast<unsigned>(value_of()) | 5u));
KERNEL(redux_or, __reduce_or_sync(kAll, static_cast<unsigned>(value_of()) & 0xf0f0u));
KERNEL(redux_xor, __reduce_xor_sync(kAll, static_cast<unsigned>(value_of())));
KERNEL(redux_of_halves,
       lane() < 16 ? __reduce_add_sync(0xffffu, lane()) : __reduce_add_sync(0xffff0000u, lane()));
KERNEL(lane_masks, [] {
  unsigned eq, lt, le, gt, ge;
  asm("mov.u32 %0, %%lanemask_eq; mov.u32 %1, %%lanemask_lt; mov.u32 %2, %%lanemask_le; mov.u32 %3, "
      "%%lanemask_gt; "
      "mov.u32 %4, %%lanemask_ge;"
      : "=r"(eq), "=r"(lt), "=r"(le), "=r"(gt), "=r"(ge));
  return eq ^ lt * 3ull ^ le * 5ull ^ gt * 7ull ^ ge * 11ull;
}());
KERNEL(syncthreads_count, __syncthreads_count(value_of() & 1));
KERNEL(syncthreads_and_or, __syncthreads_and(value_of() != 77777) + 2 * __syncthreads_or(value_of() == 63));
KERNEL(tile_of_8_sum, [] {
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  unsigned sum = static_cast<unsigned>(value_of());
  for (int d = 4; d > 0; d /= 2) sum += tile.shfl_xor(sum, d);
  return sum + 3ull * tile.thread_rank() + 100ull * tile.meta_group_rank();
}());
KERNEL(coalesced_group_rank, [] {
  if (value_of() & 1) {
    const auto active = cg::coalesced_threads();
    return active.thread_rank() + 100ull * active.size() + 10000ull * active.ballot(lane() & 2);
  }
  return 7ull;
}());

__global__ void exchange_in_shared(unsigned long long* out) {
  __shared__ int tile[kThreads];
  tile[threadIdx.x] = value_of();
  __syncthreads();
  out[threadIdx.x] = static_cast<unsigned>(tile[kThreads - 1 - threadIdx.x]);
}
const Registration register_exchange("exchange_in_shared", "bits", Kind::u64, exchange_in_shared);

__global__ void scan_of_a_block(unsigned long long* out) {
  __shared__ unsigned sums[kThreads];
  sums[threadIdx.x] = static_cast<unsigned>(value_of());
  for (unsigned d = 1; d < kThreads; d *= 2) {
    __syncthreads();
    const unsigned add = threadIdx.x >= d ? sums[threadIdx.x - d] : 0;
    __syncthreads();
    sums[threadIdx.x] += add;
  }
  out[threadIdx.x] = sums[threadIdx.x];
}
const Registration register_scan("scan_of_a_block", "bits", Kind::u64, scan_of_a_block);

__global__ void named_barriers(unsigned long long* out) {
  __shared__ int data[kThreads];
  if (threadIdx.x < 64) {
    data[threadIdx.x] = value_of();
    asm volatile("bar.arrive 3, 128;" ::: "memory");
    out[threadIdx.x] = 1;
  } else {
    asm volatile("bar.sync 3, 128;" ::: "memory");
    out[threadIdx.x] = static_cast<unsigned>(data[threadIdx.x - 64]);
  }
}
const Registration register_named("named_barriers", "bits", Kind::u64, named_barriers);

// Lanes part ways by value, in loops of different lengths, and meet again.
__global__ void divergent_loops(unsigned long long* out) {
  unsigned x = static_cast<unsigned>(value_of()) & 1023, steps = 0;
  while (x > 1) {
    x = x & 1 ? 3 * x + 1 : x / 2;
    if (++steps > 200) break;
    if ((steps & 15) == 7) continue;
    steps += x % 3 == 0;
  }
  out[threadIdx.x] = steps + (static_cast<unsigned long long>(__ballot_sync(kAll, steps & 1)) << 32);
}
const Registration register_loops("divergent_loops", "bits", Kind::u64, divergent_loops);

}  // namespace
