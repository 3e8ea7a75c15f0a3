// Three TF32 products by wgmma. The transposed product: C^T = B^T A^T, because wgmma wants its shared operand with k
// innermost, which A (m x k, by rows) has, and takes the other from registers, where B's numbers are split.
//
// A block: 128 rows of A, 128 columns of B, two groups of 128 threads with 64 columns each. A group's sums are two halves
// of 64 rows (X and Y): while one half is in the tensor cores, the other is added to the sums in fp32.
#pragma once
#include "fp32.h"

namespace warp_groups {

using fp32::commit;
using fp32::copy_async_some;
using fp32::wait;

constexpr int kRows = 128, kCols = 128, kDepth = 32, kStages = 4, kLows = 3, kThreads = 256;
constexpr int kPitchB = kCols + 8;
constexpr int kBytesA = kRows * kDepth * 4, kBytesB = kDepth * kPitchB * 4;
constexpr int kLow = kStages * kBytesA, kB = kLow + kLows * kBytesA, kBytes = kB + kStages * kBytesB + 1024;

__device__ __forceinline__ uint32_t bits(float x) { return __float_as_uint(x); }
__device__ __forceinline__ void split(uint32_t x, uint32_t& high, uint32_t& low) {
  high = x + 0x1000u;
  low = bits(__uint_as_float(x) - __uint_as_float(high & 0xffffe000u)) + 0x1000u;
}

// 64 rows of k-innermost numbers, 128 bytes a row, swizzled by 128 bytes.
__device__ __forceinline__ uint64_t descriptor(uint32_t shared) {
  return uint64_t((shared & 0x3ffff) >> 4) | uint64_t(1) << 16 | uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62;
}
__device__ __forceinline__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void close() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int n>
__device__ __forceinline__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n) : "memory");
}
__device__ __forceinline__ void pin(float (&d)[32]) {
#pragma unroll
  for (int i = 0; i < 32; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
__device__ __forceinline__ void product(float (&d)[32], const uint32_t (&a)[4], uint64_t b, int add) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,"
      "%31}, {%32,%33,%34,%35}, %36, p, 1, 1; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

template <bool b>
struct Bool {
  static constexpr bool value = b;
};

struct Pieces {  // of B's numbers, four steps of 8
  uint32_t high[4][4], low[4][4];
};

template <int kV>
struct Copier {
  static constexpr int kPerRowA = kDepth / kV, kDownA = kThreads / kPerRowA, kCountA = kRows / kDownA;
  static constexpr int kPerRowB = kCols / kV, kDownB = kThreads / kPerRowB, kCountB = kDepth / kDownB;
  const char *a, *b;
  uint32_t to_a, to_b, pitch_a, pitch_b;
  int row_a, last_a, k_a, k_b;

  __device__ void begin(const float* of_a, const float* of_b, int m, int n, int k, int top, int left, uint32_t shared) {
    const int t = threadIdx.x;
    row_a = t / kPerRowA, k_a = t % kPerRowA * kV, last_a = m - 1 - top;
    a = reinterpret_cast<const char*>(of_a + size_t(top) * k + k_a);
    pitch_a = 4u * k, pitch_b = 4u * n;
    to_a = shared + row_a * 128 + ((k_a / 4 ^ row_a % 8) * 16 + k_a % 4 * 4);
    k_b = t / kPerRowB;
    const int col = t % kPerRowB * kV;
    b = reinterpret_cast<const char*>(of_b + size_t(k_b) * n + min(left + col, n - kV));
    to_b = shared + kB + 4 * (k_b * kPitchB + col);
  }
  __device__ __forceinline__ void advance(int steps) {
    a += 4ll * steps;
    b += (long long)steps * pitch_b;
  }
  __device__ __forceinline__ void tile(int stage, bool in) const {  // zeros behind the last one
    const int some = in ? 4 * kV : 0;
#pragma unroll
    for (int i = 0; i < kCountA; ++i)
      copy_async_some<4 * kV>(to_a + stage * kBytesA + i * kDownA * 128,
                              a + size_t(min(row_a + i * kDownA, last_a)) * pitch_a, some);
#pragma unroll
    for (int i = 0; i < kCountB; ++i)
      copy_async_some<4 * kV>(to_b + stage * kBytesB + i * kDownB * kPitchB * 4, b + size_t(i * kDownB) * pitch_b, some);
  }
  __device__ __forceinline__ void first_tile(int rest) const {
#pragma unroll
    for (int i = 0; i < kCountA; ++i) {
      const int some = max(0, min(kV, rest - k_a));
      copy_async_some<4 * kV>(to_a + i * kDownA * 128,
                              some > 0 ? a + size_t(min(row_a + i * kDownA, last_a)) * pitch_a : a - 4 * k_a, 4 * some);
    }
#pragma unroll
    for (int i = 0; i < kCountB; ++i) {
      const bool in = k_b + i * kDownB < rest;
      copy_async_some<4 * kV>(to_b + i * kDownB * kPitchB * 4,
                              in ? b + size_t(i * kDownB) * pitch_b : b - size_t(k_b) * pitch_b, in ? 4 * kV : 0);
    }
  }
  // The thread's own numbers of A: rounded in place, what is left into `low`.
  __device__ __forceinline__ void convert(uint32_t shared, int stage, int low) const {
#pragma unroll
    for (int i = 0; i < kCountA; ++i) {
      const uint32_t at = to_a + stage * kBytesA + i * kDownA * 128;
      const uint32_t to = to_a + kLow + low * kBytesA + i * kDownA * 128;
      if constexpr (kV == 4) {
        uint32_t x[4], h[4], l[4];
        asm volatile("ld.shared.v4.b32 {%0,%1,%2,%3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at) : "memory");
#pragma unroll
        for (int j = 0; j < 4; ++j) split(x[j], h[j], l[j]);
        asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};" ::"r"(at), "r"(h[0]), "r"(h[1]), "r"(h[2]), "r"(h[3]) : "memory");
        asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};" ::"r"(to), "r"(l[0]), "r"(l[1]), "r"(l[2]), "r"(l[3]) : "memory");
      } else {
        uint32_t x, h, l;
        asm volatile("ld.shared.b32 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
        split(x, h, l);
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(h) : "memory");
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(l) : "memory");
      }
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
};

__device__ __forceinline__ void load_pieces(Pieces& p, uint32_t at) {  // at: the thread's first number of the stage of B
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    uint32_t x[4];
    asm volatile("ld.shared.v2.b32 {%0,%1}, [%2];" : "=r"(x[0]), "=r"(x[1]) : "r"(at + i * 8 * kPitchB * 4) : "memory");
    asm volatile("ld.shared.v2.b32 {%0,%1}, [%2];" : "=r"(x[2]), "=r"(x[3]) : "r"(at + (i * 8 + 4) * kPitchB * 4) : "memory");
#pragma unroll
    for (int j = 0; j < 4; ++j) split(x[j], p.high[i][j], p.low[i][j]);
  }
}

// The products of one half of the rows with a tile: the small ones first.
__device__ __forceinline__ void products(float (&d)[32], const Pieces& p, uint64_t high, uint64_t low) {
  pin(d);
  fence();
#pragma unroll
  for (int i = 0; i < 4; ++i) product(d, p.low[i], high + i * 2, i > 0);
#pragma unroll
  for (int i = 0; i < 4; ++i) product(d, p.high[i], low + i * 2, 1);
#pragma unroll
  for (int i = 0; i < 4; ++i) product(d, p.high[i], high + i * 2, 1);
  close();
}
__device__ __forceinline__ void add(float (&sums)[32], float (&d)[32]) {
  pin(d);
#pragma unroll
  for (int i = 0; i < 32; ++i) sums[i] += d[i];
}

template <int kV>
__device__ __forceinline__ void store(const float (&sums)[32], int row, int col, int m, int n, float* c) {
#pragma unroll
  for (int j = 0; j < 8; ++j)
#pragma unroll
    for (int x = 0; x < 2; ++x) {
      const int r = row + 8 * j + x;
      if (r >= m) continue;
      float* to = c + size_t(r) * n + col;
      if constexpr (kV == 4) {
        if (col < n) *reinterpret_cast<float2*>(to) = make_float2(sums[4 * j + x], sums[4 * j + 2 + x]);
      } else {
        if (col < n) to[0] = sums[4 * j + x];
        if (col + 1 < n) to[1] = sums[4 * j + 2 + x];
      }
    }
}

template <int kV, int kTogether>
__global__ void __launch_bounds__(kThreads, 1)
    kernel(const float* __restrict__ of_a, const float* __restrict__ of_b, int m, int n, int k, float* __restrict__ c,
           int tiles_down, int tiles_across, int band) {
  extern __shared__ float4 storage4[];
  const uint32_t shared = (uint32_t(__cvta_generic_to_shared(storage4)) + 1023) & ~1023u;
  const int per_band = band * tiles_across, first_down = blockIdx.x / per_band * band;
  const int high = min(band, tiles_down - first_down), id = blockIdx.x % per_band;
  const int top = (first_down + id % high) * kRows, left = id / high * kCols;
  Copier<kV> copier;
  copier.begin(of_a, of_b, m, n, k, top, left, shared);
  const int tiles = (k + kDepth - 1) / kDepth, rest = k - (tiles - 1) * kDepth;
  copier.first_tile(rest);
  copier.advance(rest);
  commit();
#pragma unroll
  for (int t = 1; t < kStages - 1; ++t) {
    copier.tile(t, t < tiles);
    copier.advance(kDepth);
    commit();
  }
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int own_col = warp * 16 + lane / 4 * 2;
  const uint32_t at_b = shared + kB + 4 * (lane % 4 * kPitchB + own_col);
  float x[32], y[32], sums_x[32] = {}, sums_y[32] = {};
#pragma unroll
  for (int i = 0; i < 32; ++i) x[i] = y[i] = 0;
  Pieces pieces[2];
  wait<kStages - 2>();
  copier.convert(shared, 0, 0);
  __syncthreads();
  load_pieces(pieces[0], at_b);
  const auto step = [&](bool first, int t, const Pieces& now, Pieces& next) {
    const int stage = t % kStages, ahead = (t + 1) % kStages;
    const uint64_t highs = descriptor(shared + stage * kBytesA), lows = descriptor(shared + kLow + t % kLows * kBytesA);
    products(x, now, highs, lows);
    if (!first) {
      wait_products<1>();  // of Y in the tile before
      add(sums_y, y);
    }
    products(y, now, highs + (64 * 128 >> 4), lows + (64 * 128 >> 4));
    wait<kStages - 3>();
    copier.convert(shared, ahead, (t + 1) % kLows);  // behind the last tile: of what lies there
    __syncthreads();
    copier.tile((t + 3) % kStages, t + 3 < tiles);
    copier.advance(kDepth);
    commit();
    load_pieces(next, at_b + ahead * kBytesB);
    wait_products<1>();  // of X
    add(sums_x, x);
  };
  // The compiler follows products in flight through straight code alone: all are done at the end of a turn.
#pragma unroll 1
  for (int t = 0; t < tiles; t += kTogether) {
#pragma unroll
    for (int u = 0; u < kTogether; u += 2) {
      step(u == 0, t + u, pieces[0], pieces[1]);
      step(false, t + u + 1, pieces[1], pieces[0]);
    }
    wait_products<0>();
    add(sums_y, y);
  }
  wait<0>();
  store<kV>(sums_x, top + lane % 4 * 2, left + own_col, m, n, c);
  store<kV>(sums_y, top + 64 + lane % 4 * 2, left + own_col, m, n, c);
}

template <int kV, int kTogether>
cudaError_t run(const float* a, const float* b, int m, int n, int k, float* c, cudaStream_t stream) {
  static bool ready = false;
  if (!ready) {
    const cudaError_t e = cudaFuncSetAttribute(kernel<kV, kTogether>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
    if (e != cudaSuccess) return e;
    ready = true;
  }
  const int down = (m + kRows - 1) / kRows, across = (n + kCols - 1) / kCols;
  kernel<kV, kTogether><<<down * across, kThreads, kBytes, stream>>>(a, b, m, n, k, c, down, across, 8);
  return cudaGetLastError();
}

}  // namespace warp_groups
