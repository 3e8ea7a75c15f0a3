#pragma once
// Matmul, optimized: step 3 with two tiles in shared memory, so that one barrier a tile is enough, and
// with 16 x 8 cells a thread where there are tiles for every SM. Where there are not: 8 x 8 cells, tiles
// of a quarter of the size, and two groups of threads a tile, which take turns along k and add their sums
// in the end.
//
// Cost  2·m·n·k flop; 6 loads of 16 bytes from shared memory for 128 products (small tiles: 4 for 64).
#include <cuda_runtime.h>

namespace old {

// A block's tile. A warp is 4 x 8 threads; a thread has kRunsDown x kRunsAcross runs of 4 x 4 cells, which
// lie 16 rows and 32 columns apart, so that the lanes of a warp read neighbouring vectors.
template <int kWarpsDown, int kWarpsAcross, int kRunsDown, int kRunsAcross>
struct Shape {
  static constexpr int kThreads = 32 * kWarpsDown * kWarpsAcross, kDepth = 8;
  static constexpr int kWarpRows = 16 * kRunsDown, kWarpCols = 32 * kRunsAcross;
  static constexpr int kRows = kWarpsDown * kWarpRows, kCols = kWarpsAcross * kWarpCols;
  static constexpr int kThreadRows = 4 * kRunsDown, kThreadCols = 4 * kRunsAcross;
  static constexpr int kPitch = kRows + 4;  // of A's tile, which is stored by columns
  static constexpr int kVectorsOfA = kRows * kDepth / 4 / kThreads;
  static constexpr int kVectorsOfB = kCols * kDepth / 4 / kThreads;
  static_assert(kVectorsOfA * kThreads * 4 == kRows * kDepth && kVectorsOfB * kThreads * 4 == kCols * kDepth);

  struct Tiles {
    alignas(16) float a[kDepth][kPitch];
    alignas(16) float b[kDepth][kCols];
  };
  // What a thread moves of a tile: vectors of four neighbours in a row.
  struct Piece {
    float4 a[kVectorsOfA], b[kVectorsOfB];
  };

  __device__ static int thread() { return threadIdx.x % kThreads; }
  __device__ static int first_row() {
    return thread() / 32 / kWarpsAcross * kWarpRows + thread() % 32 / 8 * 4;
  }
  __device__ static int first_col() { return thread() / 32 % kWarpsAcross * kWarpCols + thread() % 8 * 4; }
};
using Large = Shape<4, 2, 4, 2>;  // 256 x 128
using Small = Shape<2, 2, 2, 2>;  // 64 x 128
constexpr int kSmallGroups = 2;   // of a small tile's threads, each with its share of k

struct Sides {
  int m, n, k;
};

// Four neighbours in a row of a matrix with `cols` columns; 0 behind its edges.
__device__ float4 four_of(const float* matrix, int row, int col, int rows, int cols, bool aligned) {
  if (row >= rows) return make_float4(0, 0, 0, 0);
  const float* at = matrix + size_t(row) * cols + col;
  if (aligned && col + 4 <= cols) return __ldg(reinterpret_cast<const float4*>(at));
  return make_float4(col < cols ? at[0] : 0, col + 1 < cols ? at[1] : 0, col + 2 < cols ? at[2] : 0,
                     col + 3 < cols ? at[3] : 0);
}

template <typename S>
__device__ typename S::Piece fetch(const float* a, const float* b, Sides sides, int top, int left,
                                   int first) {
  typename S::Piece piece;
  constexpr int kOfARow = S::kDepth / 4, kOfBRow = S::kCols / 4;
#pragma unroll
  for (int v = 0; v < S::kVectorsOfA; ++v) {
    const int t = S::thread() + v * S::kThreads;
    piece.a[v] = four_of(a, top + t / kOfARow, first + t % kOfARow * 4, sides.m, sides.k, sides.k % 4 == 0);
  }
#pragma unroll
  for (int v = 0; v < S::kVectorsOfB; ++v) {
    const int t = S::thread() + v * S::kThreads;
    piece.b[v] = four_of(b, first + t / kOfBRow, left + t % kOfBRow * 4, sides.k, sides.n, sides.n % 4 == 0);
  }
  return piece;
}

template <typename S>
__device__ void keep(typename S::Tiles& tiles, const typename S::Piece& piece) {
  constexpr int kOfARow = S::kDepth / 4, kOfBRow = S::kCols / 4;
#pragma unroll
  for (int v = 0; v < S::kVectorsOfA; ++v) {
    const int t = S::thread() + v * S::kThreads, row = t / kOfARow, i = t % kOfARow * 4;
    tiles.a[i][row] = piece.a[v].x;
    tiles.a[i + 1][row] = piece.a[v].y;
    tiles.a[i + 2][row] = piece.a[v].z;
    tiles.a[i + 3][row] = piece.a[v].w;
  }
#pragma unroll
  for (int v = 0; v < S::kVectorsOfB; ++v) {
    const int t = S::thread() + v * S::kThreads;
    *reinterpret_cast<float4*>(&tiles.b[t / kOfBRow][t % kOfBRow * 4]) = piece.b[v];
  }
}

template <typename S>
__device__ void multiply(const typename S::Tiles& tiles, float (&sums)[S::kThreadRows][S::kThreadCols]) {
  const int row = S::first_row(), col = S::first_col();
#pragma unroll
  for (int i = 0; i < S::kDepth; ++i) {
    alignas(16) float of_a[S::kThreadRows];
    alignas(16) float of_b[S::kThreadCols];
#pragma unroll
    for (int r = 0; r < S::kThreadRows / 4; ++r)
      *reinterpret_cast<float4*>(of_a + 4 * r) = *reinterpret_cast<const float4*>(&tiles.a[i][row + 16 * r]);
#pragma unroll
    for (int s = 0; s < S::kThreadCols / 4; ++s)
      *reinterpret_cast<float4*>(of_b + 4 * s) = *reinterpret_cast<const float4*>(&tiles.b[i][col + 32 * s]);
#pragma unroll
    for (int r = 0; r < S::kThreadRows; ++r) {
#pragma unroll
      for (int s = 0; s < S::kThreadCols; ++s) sums[r][s] += of_a[r] * of_b[s];
    }
  }
}

template <typename S>
__device__ void store(const float (&sums)[S::kThreadRows][S::kThreadCols], Sides sides, int top, int left,
                      float* c) {
#pragma unroll
  for (int r = 0; r < S::kThreadRows; ++r) {
    const int row = top + S::first_row() + r / 4 * 16 + r % 4;
    if (row >= sides.m) continue;
#pragma unroll
    for (int run = 0; run < S::kThreadCols / 4; ++run) {
      const int col = left + S::first_col() + run * 32;
      const float* four = &sums[r][run * 4];
      float* at = c + size_t(row) * sides.n + col;
      if (sides.n % 4 == 0 && col + 4 <= sides.n) {
        *reinterpret_cast<float4*>(at) = make_float4(four[0], four[1], four[2], four[3]);
      } else {
#pragma unroll
        for (int s = 0; s < 4; ++s)
          if (col + s < sides.n) at[s] = four[s];
      }
    }
  }
}

// The first group gets the sums of all, by way of shared memory.
template <typename S, int kGroups>
__device__ void add_groups(float* shared_sums, int group, float (&sums)[S::kThreadRows][S::kThreadCols]) {
  constexpr int kCells = S::kThreadRows * S::kThreadCols;
  float* own = shared_sums + S::thread();
  for (int other = 1; other < kGroups; ++other) {
    if (group == other) {
#pragma unroll
      for (int i = 0; i < kCells; ++i) own[i * S::kThreads] = sums[i / S::kThreadCols][i % S::kThreadCols];
    }
    __syncthreads();
    if (group == 0) {
#pragma unroll
      for (int i = 0; i < kCells; ++i) sums[i / S::kThreadCols][i % S::kThreadCols] += own[i * S::kThreads];
    }
    __syncthreads();
  }
}

template <typename S, int kGroups>
__global__ void __launch_bounds__(S::kThreads* kGroups, 1)
    matmul_kernel(const float* a, const float* b, Sides sides, float* c) {
  constexpr size_t kTileBytes = sizeof(typename S::Tiles) * 2 * kGroups;
  constexpr size_t kSumBytes =
      kGroups > 1 ? sizeof(float) * S::kThreadRows * S::kThreadCols * S::kThreads : 0;
  __shared__ alignas(16) unsigned char storage[kTileBytes > kSumBytes ? kTileBytes : kSumBytes];
  const int group = threadIdx.x / S::kThreads;
  typename S::Tiles* tiles = reinterpret_cast<typename S::Tiles*>(storage) + 2 * group;
  const int top = blockIdx.y * S::kRows, left = blockIdx.x * S::kCols;
  float sums[S::kThreadRows][S::kThreadCols] = {};
  keep<S>(tiles[0], fetch<S>(a, b, sides, top, left, group * S::kDepth));
  __syncthreads();
  for (int first = 0, at = 0; first < sides.k; first += S::kDepth * kGroups) {
    const bool is_last = first + S::kDepth * kGroups >= sides.k;
    typename S::Piece next{};
    if (!is_last) next = fetch<S>(a, b, sides, top, left, first + S::kDepth * (kGroups + group));
    multiply<S>(tiles[at], sums);
    if (is_last) break;
    at ^= 1;
    keep<S>(tiles[at], next);
    __syncthreads();
  }
  if constexpr (kGroups > 1) {
    __syncthreads();
    add_groups<S, kGroups>(reinterpret_cast<float*>(storage), group, sums);
    if (group > 0) return;
  }
  store<S>(sums, sides, top, left, c);
}

template <typename S>
dim3 blocks_of(Sides sides) {
  return dim3((sides.n + S::kCols - 1) / S::kCols, (sides.m + S::kRows - 1) / S::kRows);
}

inline cudaError_t matmul_run(const float* a, const float* b, int m, int n, int k, float* c, cudaStream_t stream) {
  const Sides sides{m, n, k};
  int device = 0, multiprocessors = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  const dim3 large = blocks_of<Large>(sides);
  if (int(large.x * large.y) >= multiprocessors) {
    matmul_kernel<Large, 1><<<large, Large::kThreads, 0, stream>>>(a, b, sides, c);
  } else {
    matmul_kernel<Small, kSmallGroups>
        <<<blocks_of<Small>(sides), Small::kThreads * kSmallGroups, 0, stream>>>(a, b, sides, c);
  }
  return cudaGetLastError();
}
}  // namespace old
