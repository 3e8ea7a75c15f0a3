// shfl, vote, match, redux, activemask, special registers.
#include "check.h"

__global__ void shuffles(int* out) {
  const int t = threadIdx.x, lane = t % 32;
  int* row = out + t * 8;
  row[0] = __shfl_sync(~0u, t * 3, lane ^ 5);
  row[1] = __shfl_up_sync(~0u, t, 3);
  row[2] = __shfl_down_sync(~0u, t, 7, 8);
  row[3] = __shfl_xor_sync(~0u, t, 9, 16);
  row[4] = int(__shfl_sync(~0u, t * 0.5, 2, 4) * 2);
  row[5] = lane % 2 ? __shfl_xor_sync(0xaaaaaaaau, t, 2) : __shfl_xor_sync(0x55555555u, t, 4);
}

__global__ void votes(unsigned* out) {
  const int t = threadIdx.x;
  unsigned* row = out + t * 8;
  row[0] = __ballot_sync(~0u, t % 3 == 0);
  row[1] = __any_sync(~0u, t == 40) + 2 * __all_sync(~0u, t < 64) + 4 * __all_sync(~0u, t != 33);
  row[2] = __match_any_sync(~0u, t % 5);
  int equal;
  row[3] = __match_all_sync(~0u, t / 32, &equal) + equal;
  row[4] = __reduce_add_sync(~0u, t);
  row[5] = unsigned(__reduce_min_sync(~0u, 100 - t)) + __reduce_or_sync(~0u, unsigned(t));
  if (t % 32 < 9) row[6] = __activemask() + __ballot_sync(0x1ffu, t & 1);
  unsigned lower;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lower));
  row[7] = __popc(lower);
}

int main() {
  Managed<int> s(64 * 8);
  shuffles<<<1, 64>>>(s.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 64; ++t) {
    const int warp = t / 32 * 32, lane = t % 32;
    expect(s[t * 8] == (warp + (lane ^ 5)) * 3, "shfl idx");
    expect(s[t * 8 + 1] == (lane < 3 ? t : t - 3), "shfl up");
    expect(s[t * 8 + 2] == (lane % 8 + 7 < 8 ? t + 7 : t), "shfl down, width 8");
    expect(s[t * 8 + 3] == (t ^ 9), "shfl xor, width 16");
    expect(s[t * 8 + 4] == t / 4 * 4 + 2, "shfl of a double, width 4");
    expect(s[t * 8 + 5] == (lane % 2 ? t ^ 2 : t ^ 4), "shfl of half a warp");
  }
  Managed<unsigned> v(64 * 8);
  votes<<<1, 64>>>(v.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 64; ++t) {
    unsigned ballot = 0, match = 0;
    for (int k = 0; k < 32; ++k) {
      const int other = t / 32 * 32 + k;
      ballot |= unsigned(other % 3 == 0) << k;
      match |= unsigned(other % 5 == t % 5) << k;
    }
    expect(v[t * 8] == ballot, "ballot");
    expect(v[t * 8 + 1] == (t < 32 ? 0u : 1u) + 2 + (t < 32 ? 4u : 0u), "any and all");
    expect(v[t * 8 + 2] == match, "match any");
    expect(v[t * 8 + 3] == ~0u + 1, "match all");
    expect(v[t * 8 + 4] == (t < 32 ? 496u : 1520u), "redux add");
    expect(v[t * 8 + 5] == (t < 32 ? 69u + 31 : 37u + 63), "redux min and or");
    if (t % 32 < 9) expect(v[t * 8 + 6] == 0x1ffu + 0xaau, "activemask and ballot of nine lanes");
    expect(v[t * 8 + 7] == unsigned(t % 32), "lanemask_lt");
  }
  return g_failures;
}
