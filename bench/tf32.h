// Three products of TF32 pieces a product of fp32, by tensor cores. Every 8 (mma) or 32 (wgmma) steps of k the tensor
// core's sum, which it cuts off, is added to sums in fp32 registers, which round to nearest.
#pragma once
#include "fp32.h"

namespace tf32 {

using namespace fp32;

__device__ __forceinline__ uint32_t bits(float x) { return __float_as_uint(x); }
// x = high + low but for 2^-23 of x. Tensor cores ignore the last 13 bits, so that adding half of their unit rounds.
__device__ __forceinline__ void split(uint32_t x, uint32_t& high, uint32_t& low) {
  high = x + 0x1000u;
  low = bits(__uint_as_float(x) - __uint_as_float(high & 0xffffe000u)) + 0x1000u;
}

template <int kBM, int kBN, int kBK, int kWM, int kWN, int kStagesOf, int kVec, int kBlocks>
struct MmaPlan {
  static constexpr int BM = kBM, BN = kBN, BK = kBK, WM = kWM, WN = kWN, kStages = kStagesOf, kMin = kBlocks, kV = kVec,
                       kVecA = kVec;
  static constexpr Way kWay = kRows;
  static constexpr int kWarpsDown = BM / WM, kWarpsAcross = BN / WN, kThreads = 32 * kWarpsDown * kWarpsAcross,
                       kGroupThreads = kThreads;
  static constexpr int kPitchA = BK + 4, kPitchB = BN + 8;
  static constexpr int kFloatsA = BM * kPitchA, kStage = kFloatsA + BK * kPitchB;
  static constexpr int kLoadsA = BM * BK / kVec / kThreads, kLoadsB = BN * BK / kVec / kThreads;
  static constexpr size_t kBytes = sizeof(float) * kStage * kStages;
  static constexpr int kSplit = 1;
};

__device__ __forceinline__ void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], bool zero) {
  if (zero)
    asm(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.f));
  else
    asm(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ void place(int tiles_down, int tiles_across, int band, int& down, int& across) {
  const int per_band = band * tiles_across, first_down = blockIdx.x / per_band * band;
  const int high = min(band, tiles_down - first_down), id = blockIdx.x % per_band;
  down = first_down + id % high;
  across = id / high;
}

template <class P>
__global__ void __launch_bounds__(P::kThreads, P::kMin)
    mma_kernel(const float* __restrict__ of_a, const float* __restrict__ of_b, int m, int n, int k, float* __restrict__ c,
               int tiles_down, int tiles_across, int band) {
  extern __shared__ float4 storage4[];
  float* mine = reinterpret_cast<float*>(storage4);
  int top, left;
  place(tiles_down, tiles_across, band, top, left);
  top *= P::BM, left *= P::BN;
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const int warp_row = warp / P::kWarpsAcross * P::WM, warp_col = warp % P::kWarpsAcross * P::WN;
  const uint32_t shared = uint32_t(__cvta_generic_to_shared(mine));
  Loader<P> loader;
  loader.begin(of_a, of_b, m, n, k, top, left, thread, shared);
  const int tiles = (k + P::BK - 1) / P::BK, rest = k - (tiles - 1) * P::BK;
#pragma unroll
  for (int t = 0; t < P::kStages - 1; ++t) {
    if (t == 0) {
      loader.first_tile(0, rest);
      loader.advance(rest);
    } else {
      loader.tile(t * P::kStage * 4, t < tiles);
      loader.advance(P::BK);
    }
    commit();
  }
  constexpr int kDown = P::WM / 16, kAcross = P::WN / 8, kTogether = kDown * kAcross >= 32 ? 1 : 2;
  float sums[kDown][kAcross][4] = {};
  // ldmatrix: lanes 0 to 7 give the rows of the first matrix (rows 0 to 7, k 0 to 3), then rows 8 to 15, then k 4 to 7.
  const uint32_t at_a = shared + 4 * ((warp_row + lane % 16) * P::kPitchA + lane / 16 * 4);
  const float* at_b = mine + P::kFloatsA + lane % 4 * P::kPitchB + warp_col + lane / 4 * 4;
  int read = 0, write = (P::kStages - 1) * P::kStage;
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
    wait<P::kStages - 2>();
    __syncthreads();
    loader.tile(write * 4, t + P::kStages - 1 < tiles);
    loader.advance(P::BK);
    commit();
#pragma unroll
    for (int i = 0; i < P::BK; i += 8) {
      uint32_t high_a[kDown][4], low_a[kDown][4];
#pragma unroll
      for (int d = 0; d < kDown; ++d) {
        uint32_t raw[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(raw[0]), "=r"(raw[1]), "=r"(raw[2]), "=r"(raw[3])
                     : "r"(at_a + 4 * (read + d * 16 * P::kPitchA + i)));
#pragma unroll
        for (int x = 0; x < 4; ++x) split(raw[x], high_a[d][x], low_a[d][x]);
      }
#pragma unroll
      for (int four = 0; four < kAcross / 4; ++four) {
        const float4 v0 = load4(at_b + read + i * P::kPitchB + four * 32);
        const float4 v1 = load4(at_b + read + (i + 4) * P::kPitchB + four * 32);
        uint32_t high_b[4][2], low_b[4][2];
        split(bits(v0.x), high_b[0][0], low_b[0][0]), split(bits(v1.x), high_b[0][1], low_b[0][1]);
        split(bits(v0.y), high_b[1][0], low_b[1][0]), split(bits(v1.y), high_b[1][1], low_b[1][1]);
        split(bits(v0.z), high_b[2][0], low_b[2][0]), split(bits(v1.z), high_b[2][1], low_b[2][1]);
        split(bits(v0.w), high_b[3][0], low_b[3][0]), split(bits(v1.w), high_b[3][1], low_b[3][1]);
#pragma unroll
        for (int two = 0; two < 4; two += kTogether) {
          float part[kDown][kTogether][4];
#pragma unroll
          for (int j = 0; j < kTogether; ++j)
#pragma unroll
            for (int d = 0; d < kDown; ++d) mma(part[d][j], low_a[d], high_b[two + j], true);
#pragma unroll
          for (int j = 0; j < kTogether; ++j)
#pragma unroll
            for (int d = 0; d < kDown; ++d) mma(part[d][j], high_a[d], low_b[two + j], false);
#pragma unroll
          for (int j = 0; j < kTogether; ++j)
#pragma unroll
            for (int d = 0; d < kDown; ++d) mma(part[d][j], high_a[d], high_b[two + j], false);
#pragma unroll
          for (int j = 0; j < kTogether; ++j)
#pragma unroll
            for (int d = 0; d < kDown; ++d)
#pragma unroll
              for (int x = 0; x < 4; ++x) sums[d][four * 4 + two + j][x] += part[d][j][x];
        }
      }
    }
    write = read;
    read = read + P::kStage == P::kStages * P::kStage ? 0 : read + P::kStage;
  }
  wait<0>();
  // Column i of the mma's tile j is column 32 * (j / 4) + 4 * i + j % 4 of the warp's.
#pragma unroll
  for (int d = 0; d < kDown; ++d)
#pragma unroll
    for (int x = 0; x < 4; ++x) {
      const int row = top + warp_row + d * 16 + x / 2 * 8 + lane / 4;
      if (row >= m) continue;
#pragma unroll
      for (int four = 0; four < kAcross / 4; ++four) {
        const int col = left + warp_col + four * 32 + (lane % 4 * 2 + x % 2) * 4;
        float* to = c + size_t(row) * n + col;
        const float v[4] = {sums[d][four * 4][x], sums[d][four * 4 + 1][x], sums[d][four * 4 + 2][x],
                            sums[d][four * 4 + 3][x]};
        if constexpr (P::kV == 4) {
          if (col < n) *reinterpret_cast<float4*>(to) = make_float4(v[0], v[1], v[2], v[3]);
        } else {
#pragma unroll
          for (int s = 0; s < 4; ++s)
            if (col + s < n) to[s] = v[s];
        }
      }
    }
}

template <class P>
cudaError_t run_mma(const float* a, const float* b, int m, int n, int k, float* c, cudaStream_t stream) {
  static bool ready = false;
  if (!ready) {
    const cudaError_t e = cudaFuncSetAttribute(mma_kernel<P>, cudaFuncAttributeMaxDynamicSharedMemorySize, int(P::kBytes));
    if (e != cudaSuccess) return e;
    ready = true;
  }
  const int down = (m + P::BM - 1) / P::BM, across = (n + P::BN - 1) / P::BN;
  mma_kernel<P><<<down * across, P::kThreads, P::kBytes, stream>>>(a, b, m, n, k, c, down, across, 1024 / P::BM);
  return cudaGetLastError();
}

}  // namespace tf32

#define MMA(name, shapes, blocks, ...) \
  {name, tf32::run_mma<tf32::MmaPlan<__VA_ARGS__, 4, blocks>>, tf32::run_mma<tf32::MmaPlan<__VA_ARGS__, 1, blocks>>, shapes}
#include "wgmma.h"
#define TF32_VARIANTS                                                  \
  MMA("3xtf32 mma 128x128x16 w64x64 s4 2/SM", 7, 2, 128, 128, 16, 64, 64, 4), \
  MMA("3xtf32 mma 128x128x16 w64x32 s4", 7, 1, 128, 128, 16, 64, 32, 4), \
  MMA("3xtf32 mma 256x128x16 w64x64 s4", 6, 1, 256, 128, 16, 64, 64, 4), \
  MMA("3xtf32 mma 64x64x16 w32x32 s4 2/SM", 1, 2, 64, 64, 16, 32, 32, 4), \
  {"3xtf32 wgmma 128x128x32 drain 2", warp_groups::run<4, 2>, warp_groups::run<1, 2>, 7}, \
  {"3xtf32 wgmma 128x128x32 drain 4", warp_groups::run<4, 4>, warp_groups::run<1, 4>, 7},
