// fp32 variants: one template.
#pragma once
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cstdint>

namespace fp32 {

enum Way { kColumns, kRows };  // how A lies in shared memory: by columns (4-byte copies) or by rows (LDS.128 along k)

template <int kBM, int kBN, int kBK, int kWM, int kWN, int kStagesOf, Way kWayOfA, int kVec, int kBlocks, int kGroupsOf = 1,
          int kSplitOf = 1, int kAblate = 0>
struct Plan {
  static constexpr int BM = kBM, BN = kBN, BK = kBK, WM = kWM, WN = kWN, kStages = kStagesOf, kGroups = kGroupsOf,
                       kSplit = kSplitOf, kMin = kBlocks, kV = kVec, kOff = kAblate;
  static constexpr Way kWay = kWayOfA;
  static constexpr int kWarpsDown = BM / WM, kWarpsAcross = BN / WN, kGroupThreads = 32 * kWarpsDown * kWarpsAcross,
                       kThreads = kGroupThreads * kGroups;
  static constexpr int LM = 4, LN = 8, TM = WM / LM, TN = WN / LN;
  static constexpr int kVecA = kWay == kRows ? kVec : 1;
  static constexpr int kPitchA = kWay == kRows ? (BK % 16 == 0 ? BK + 4 : BK) : BM + 4;
  static constexpr int kFloatsA = kWay == kRows ? BM * kPitchA : BK * kPitchA, kFloatsB = BK * BN,
                       kStage = kFloatsA + kFloatsB, kPitchB = BN;
  static constexpr int kLoadsA = BM * BK / kVecA / kGroupThreads, kLoadsB = BN * BK / kVec / kGroupThreads;
  static_assert(kLoadsA * kVecA * kGroupThreads == BM * BK && kLoadsB * kVec * kGroupThreads == BN * BK, "");
  static constexpr size_t kTileBytes = sizeof(float) * kStage * kStages * kGroups;
  static constexpr size_t kSumBytes = (kGroups > 1 || kSplit > 1) ? sizeof(float) * BM * BN : 0;
  static constexpr size_t kBytes = kTileBytes > kSumBytes ? kTileBytes : kSumBytes;
};

template <int kBytes>
__device__ __forceinline__ void copy_async(uint32_t to, const void* from, int wanted) {
  if constexpr (kBytes == 16)
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p cp.async.cg.shared.global [%0], [%1], 16; }" ::"r"(to),
                 "l"(from), "r"(wanted));
  else
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p cp.async.ca.shared.global [%0], [%1], 4; }" ::"r"(to),
                 "l"(from), "r"(wanted));
}
template <int kBytes>
__device__ __forceinline__ void copy_async_some(uint32_t to, const void* from, int bytes) {
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes));
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;"); }
template <int n>
__device__ __forceinline__ void wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
}

template <class P>
__device__ __forceinline__ void group_barrier(int group) {
  if constexpr (P::kGroups == 1)
    __syncthreads();
  else
    asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "n"(P::kGroupThreads) : "memory");
}

template <class P>
struct Loader {
  static constexpr int kPerRowA = P::BK / P::kVecA, kRowsA = P::kGroupThreads / kPerRowA;
  static constexpr int kPerRowB = P::BN / P::kV;
  static_assert(P::kGroupThreads % kPerRowA == 0, "");
  static_assert(P::kGroupThreads % kPerRowB == 0 || kPerRowB % P::kGroupThreads == 0, "");
  static constexpr int kRowsB = P::kGroupThreads >= kPerRowB ? P::kGroupThreads / kPerRowB : 1;
  static constexpr int kRunsB = P::kGroupThreads >= kPerRowB ? 1 : kPerRowB / P::kGroupThreads;  // of one row

  const char *a, *b;  // the thread's next numbers
  uint32_t offset_a[P::kLoadsA], offset_b[P::kLoadsB];  // in bytes
  uint32_t to_a, to_b, step_b;
  int k_of_a, k_of_b;

  __device__ void begin(const float* of_a, const float* of_b, int m, int n, int k, int top, int left, int thread,
                        uint32_t shared) {
    const int row = thread / kPerRowA;
    k_of_a = thread % kPerRowA * P::kVecA;
    a = reinterpret_cast<const char*>(of_a + size_t(top) * k + k_of_a);
#pragma unroll
    for (int i = 0; i < P::kLoadsA; ++i) offset_a[i] = uint32_t(min(row + i * kRowsA, m - 1 - top)) * uint32_t(k) * 4;
    if constexpr (P::kWay == kRows)
      to_a = shared + 4 * (row * P::kPitchA + k_of_a);
    else
      to_a = shared + 4 * (k_of_a * P::kPitchA + row);
    k_of_b = kRunsB > 1 ? 0 : thread / kPerRowB;
    const int col = (kRunsB > 1 ? thread : thread % kPerRowB) * P::kV;
    b = reinterpret_cast<const char*>(of_b + size_t(k_of_b) * n);
#pragma unroll
    for (int i = 0; i < P::kLoadsB; ++i) {
      const int down = i / kRunsB * kRowsB, run = i % kRunsB;
      offset_b[i] = uint32_t(down * n + min(left + col + run * P::kGroupThreads * P::kV, n - P::kV)) * 4;
    }
    to_b = shared + 4 * (P::kFloatsA + k_of_b * P::kPitchB + col);
    step_b = uint32_t(n) * 4;
  }
  static constexpr int kStepA = P::kWay == kRows ? 4 * kRowsA * P::kPitchA : 4 * kRowsA;
  __device__ __forceinline__ static constexpr int step_b_of(int i) {
    return 4 * (i / kRunsB * kRowsB * P::kPitchB + i % kRunsB * P::kGroupThreads * P::kV);
  }
  __device__ __forceinline__ void advance(int steps_of_k) {
    a += steps_of_k * 4ll;
    b += (long long)steps_of_k * step_b;
  }
  __device__ __forceinline__ void tile(uint32_t stage, int wanted) const {
#pragma unroll
    for (int i = 0; i < P::kLoadsA; ++i)
      copy_async<4 * P::kVecA>(to_a + stage + i * kStepA, a + offset_a[i], wanted);
#pragma unroll
    for (int i = 0; i < P::kLoadsB; ++i) copy_async<4 * P::kV>(to_b + stage + step_b_of(i), b + offset_b[i], wanted);
  }
  // The tile at k = 0, of which `rest` steps of k count.
  __device__ __forceinline__ void first_tile(uint32_t stage, int rest) const {
#pragma unroll
    for (int i = 0; i < P::kLoadsA; ++i) {
      const int some = max(0, min(P::kVecA, rest - k_of_a));
      copy_async_some<4 * P::kVecA>(to_a + stage + i * kStepA, some > 0 ? a + offset_a[i] : a - k_of_a * 4, 4 * some);
    }
#pragma unroll
    for (int i = 0; i < P::kLoadsB; ++i) {
      const bool in = k_of_b + i / kRunsB * kRowsB < rest;
      copy_async_some<4 * P::kV>(to_b + stage + step_b_of(i), in ? b + offset_b[i] : b - (long long)k_of_b * step_b,
                                 in ? 4 * P::kV : 0);
    }
  }
};

__device__ __forceinline__ float4 load4(const float* p) { return *reinterpret_cast<const float4*>(p); }

template <class P>
struct Fragments {
  static constexpr int kA = P::kWay == kRows ? P::TM * 4 : P::TM * 2;
  float a[kA], b[2][P::TN];
  __device__ __forceinline__ void load_b(int slot, const float* from) {  // from: row k of B's tile, the thread's first
#pragma unroll
    for (int i = 0; i < P::TN / 4; ++i) {
      const float4 v = load4(from + i * P::LN * 4);
      b[slot][4 * i] = v.x, b[slot][4 * i + 1] = v.y, b[slot][4 * i + 2] = v.z, b[slot][4 * i + 3] = v.w;
    }
  }
  __device__ __forceinline__ void load_a_column(int slot, const float* from) {
#pragma unroll
    for (int i = 0; i < P::TM / 4; ++i) {
      const float4 v = load4(from + i * P::LM * 4);
      float* to = a + slot * P::TM + 4 * i;
      to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
    }
  }
  __device__ __forceinline__ void load_a_row(int r, const float* from) {  // from: the thread's first row at k
    const float4 v = load4(from + r * P::LM * P::kPitchA);
    a[4 * r] = v.x, a[4 * r + 1] = v.y, a[4 * r + 2] = v.z, a[4 * r + 3] = v.w;
  }
};

template <class P>
__device__ __forceinline__ int row_of(int lane_row, int r) {
  return P::kWay == kRows ? r * P::LM + lane_row : (r / 4 * P::LM + lane_row) * 4 + r % 4;
}

template <class P>
__global__ void __launch_bounds__(P::kThreads, P::kMin)
    kernel(const float* __restrict__ of_a, const float* __restrict__ of_b, int m, int n, int k, float* __restrict__ c,
           int tiles_down, int tiles_across, int band) {
  extern __shared__ float4 storage4[];
  float* storage = reinterpret_cast<float*>(storage4);
  // Tiles in bands of `band` rows of tiles, so that neighbours in time share A and B in L2.
  int id = blockIdx.x / P::kSplit;
  const int part = P::kSplit > 1 ? blockIdx.x % P::kSplit : 0;
  const int per_band = band * tiles_across, first_down = id / per_band * band;
  const int high = min(band, tiles_down - first_down);
  id %= per_band;
  const int top = (first_down + id % high) * P::BM, left = id / high * P::BN;

  const int group = P::kGroups > 1 ? threadIdx.x / P::kGroupThreads : 0;
  const int thread = P::kGroups > 1 ? threadIdx.x % P::kGroupThreads : threadIdx.x;
  const int lane = thread % 32, warp = thread / 32;
  // Lanes t and t^1 read the same of A, lanes t and t^2 the same of B: a 16-byte load is then two passes.
  const int lane_row = (lane >> 1 & 1) | (lane >> 3 & 2), lane_col = (lane & 1) | (lane >> 1 & 6);
  const int warp_row = warp / P::kWarpsAcross * P::WM, warp_col = warp % P::kWarpsAcross * P::WN;

  float* mine = storage + group * (P::kStage * P::kStages);
  Loader<P> loader;
  loader.begin(of_a, of_b, m, n, k, top, left, thread, uint32_t(__cvta_generic_to_shared(mine)));

  // The tile with the rest of k comes first. Parts (of the grid, of the block) take turns.
  const int parts = P::kGroups * P::kSplit, index = part * P::kGroups + group;
  const int tiles = (k + P::BK - 1) / P::BK, rest = k - (tiles - 1) * P::BK;
  const int count = (tiles - index + parts - 1) / parts;  // of this group
#pragma unroll
  for (int t = 0; t < P::kStages - 1; ++t) {
    if (t == 0 && index == 0) {
      loader.first_tile(0, rest);
    } else {
      if (t == 0) loader.advance((index - 1) * P::BK + rest);
      loader.tile(t * P::kStage * 4, t < count);
    }
    if (t == 0 && index == 0) loader.advance((parts - 1) * P::BK + rest);
    else loader.advance(parts * P::BK);
    commit();
  }
  float sums[P::TM][P::TN] = {};
  Fragments<P> f;
  const bool works = top + warp_row < m && left + warp_col < n;
  const int start_a = P::kWay == kRows ? (warp_row + lane_row) * P::kPitchA : warp_row + lane_row * 4;
  const float* at_a = mine + start_a;
  const float* at_b = mine + P::kFloatsA + warp_col + lane_col * 4;
  wait<P::kStages - 2>();
  group_barrier<P>(group);
  if (P::kWay == kRows) {
#pragma unroll
    for (int r = 0; r < P::TM; ++r) f.load_a_row(r, at_a);
  } else {
    f.load_a_column(0, at_a);
  }
  f.load_b(0, at_b);
  int write = (P::kStages - 1) * P::kStage, read = 0;
  if (works) {
#pragma unroll 1
    for (int t = 0; t < count; ++t) {
      int next = read + P::kStage;
      if (next == P::kStages * P::kStage) next = 0;
#pragma unroll
      for (int i = 0; i < P::BK; ++i) {
        const bool last = i == P::BK - 1;
        if (last && !(P::kOff & 2)) {
          wait<P::kStages - 2>();
          group_barrier<P>(group);
        }
        const int ahead = last ? next : read, step = last ? 0 : i + 1;
        f.load_b((i + 1) & 1, at_b + ahead + step * P::BN);
        if (P::kWay == kColumns) f.load_a_column((i + 1) & 1, at_a + ahead + step * P::kPitchA);
        if (i == 0 && !(P::kOff & 1)) {
          // Whole tiles alone: only tile 0 has the rest of k, and the prologue has copied it.
          loader.tile(write * 4, t + P::kStages - 1 < count);
          loader.advance(parts * P::BK);
          commit();
        }
#pragma unroll
        for (int r = 0; r < P::TM; ++r) {
#pragma unroll
          for (int s0 = 0; s0 < P::TN; ++s0) {
            const int s = r % 2 ? P::TN - 1 - s0 : s0;
            if constexpr (P::kWay == kRows)
              sums[r][s] += f.a[4 * r + i % 4] * f.b[i & 1][s];
            else
              sums[r][s] += f.a[(i & 1) * P::TM + r] * f.b[i & 1][s];
          }
          if (P::kWay == kRows && i % 4 == 3) f.load_a_row(r, at_a + ahead + (last ? 0 : i + 1));
        }
      }
      write = read;
      read = next;
    }
  } else {
#pragma unroll 1
    for (int t = 0; t < count; ++t) {
      loader.tile(write * 4, t + P::kStages - 1 < count);
      loader.advance(parts * P::BK);
      commit();
      wait<P::kStages - 2>();
      group_barrier<P>(group);
      write = read;
      read = read + P::kStage == P::kStages * P::kStage ? 0 : read + P::kStage;
    }
  }
  wait<0>();

  if constexpr (P::kGroups > 1) {
    __syncthreads();
    for (int other = 1; other < P::kGroups; ++other) {
      if (group == other) {
#pragma unroll
        for (int x = 0; x < P::TM * P::TN; ++x) storage[x * P::kGroupThreads + thread] = sums[x / P::TN][x % P::TN];
      }
      __syncthreads();
      if (group == 0) {
#pragma unroll
        for (int x = 0; x < P::TM * P::TN; ++x) sums[x / P::TN][x % P::TN] += storage[x * P::kGroupThreads + thread];
      }
      __syncthreads();
    }
  }
  int first_r = 0, last_r = P::TM;
  if constexpr (P::kSplit == 2) {
    namespace cg = cooperative_groups;
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank();
    cluster.sync();
    float* theirs = cluster.map_shared_rank(storage, rank ^ 1);
    constexpr int kHalf = P::TM / 2 * P::TN;
    if (group == 0) {
#pragma unroll
      for (int x = 0; x < kHalf; ++x)
        theirs[x * P::kGroupThreads + thread] = rank ? sums[x / P::TN][x % P::TN] : sums[P::TM / 2 + x / P::TN][x % P::TN];
    }
    cluster.sync();
    if (group == 0) {
      if (rank == 0) {
#pragma unroll
        for (int x = 0; x < kHalf; ++x) sums[x / P::TN][x % P::TN] += storage[x * P::kGroupThreads + thread];
        last_r = P::TM / 2;
      } else {
#pragma unroll
        for (int x = 0; x < kHalf; ++x)
          sums[P::TM / 2 + x / P::TN][x % P::TN] += storage[x * P::kGroupThreads + thread];
        first_r = P::TM / 2;
      }
    }
  }
  if (group > 0) return;
#pragma unroll
  for (int r = 0; r < P::TM; ++r) {
    const int row = top + warp_row + row_of<P>(lane_row, r);
    if (row >= m || r < first_r || r >= last_r) continue;
#pragma unroll
    for (int i = 0; i < P::TN / 4; ++i) {
      const int col = left + warp_col + (i * P::LN + lane_col) * 4;
      float* to = c + size_t(row) * n + col;
      const float* four = &sums[r][4 * i];
      if constexpr (P::kV == 4) {
        if (col < n) *reinterpret_cast<float4*>(to) = make_float4(four[0], four[1], four[2], four[3]);
      } else {
#pragma unroll
        for (int s = 0; s < 4; ++s)
          if (col + s < n) to[s] = four[s];
      }
    }
  }
}

template <class P>
cudaError_t run(const float* a, const float* b, int m, int n, int k, float* c, cudaStream_t stream) {
  static bool ready = false;
  if (!ready) {
    const cudaError_t e = cudaFuncSetAttribute(kernel<P>, cudaFuncAttributeMaxDynamicSharedMemorySize, int(P::kBytes));
    if (e != cudaSuccess) return e;
    ready = true;
  }
  const int down = (m + P::BM - 1) / P::BM, across = (n + P::BN - 1) / P::BN;
  int band = 1024 / P::BM;
  if (band < 1) band = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(down * across * P::kSplit);
  config.blockDim = dim3(P::kThreads);
  config.dynamicSmemBytes = P::kBytes;
  config.stream = stream;
  cudaLaunchAttribute attribute;
  if (P::kSplit > 1) {
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = P::kSplit;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
  return cudaLaunchKernelEx(&config, kernel<P>, a, b, m, n, k, c, down, across, band);
}

}  // namespace fp32
