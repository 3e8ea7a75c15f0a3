// Matmul, step 3: 16 bytes a load, from global and from shared memory; the next tile is fetched while this
// one is multiplied.
//
// Cost  2·m·n·k flop; 4 loads of 16 bytes from shared memory for 64 products.
#include "warpgrade/matmul.h"

namespace {

constexpr int kRows = 128, kCols = 128, kDepth = 16, kThreads = 256, kBuffers = 1;
constexpr int kPitch = kRows + 4;  // of A's tile, which is stored by columns: 16-byte loads, few conflicts

struct Tiles {
  float a[kDepth][kPitch];
  float b[kDepth][kCols];
};

// What a thread moves of a tile: two vectors of A (four neighbours in a row) and two of B.
struct Piece {
  float4 a[2], b[2];
};

// Four neighbours in a row of a matrix with `cols` columns; 0 behind its edges.
__device__ float4 four_of(const float* matrix, int row, int col, int rows, int cols, bool aligned) {
  if (row >= rows) return make_float4(0, 0, 0, 0);
  const float* at = matrix + size_t(row) * cols + col;
  if (aligned && col + 4 <= cols) return __ldg(reinterpret_cast<const float4*>(at));
  return make_float4(col < cols ? at[0] : 0, col + 1 < cols ? at[1] : 0, col + 2 < cols ? at[2] : 0,
                     col + 3 < cols ? at[3] : 0);
}

__device__ Piece fetch(const float* a, const float* b, int m, int n, int k, int top, int left, int first) {
  Piece piece;
#pragma unroll
  for (int v = 0; v < 2; ++v) {
    const int t = threadIdx.x + v * kThreads;
    piece.a[v] = four_of(a, top + t / 4, first + t % 4 * 4, m, k, k % 4 == 0);
    piece.b[v] = four_of(b, first + t / 32, left + t % 32 * 4, k, n, n % 4 == 0);
  }
  return piece;
}

__device__ void keep(Tiles& tiles, const Piece& piece) {
#pragma unroll
  for (int v = 0; v < 2; ++v) {
    const int t = threadIdx.x + v * kThreads, row = t / 4, i = t % 4 * 4;
    tiles.a[i][row] = piece.a[v].x;
    tiles.a[i + 1][row] = piece.a[v].y;
    tiles.a[i + 2][row] = piece.a[v].z;
    tiles.a[i + 3][row] = piece.a[v].w;
    *reinterpret_cast<float4*>(&tiles.b[t / 32][t % 32 * 4]) = piece.b[v];
  }
}

// A thread's 8 x 8 cells: two runs of four rows and two of four columns, 64 apart. A warp covers 4 x
// 8 threads.
__device__ int thread_row() {
  return threadIdx.x / 64 * 16 + threadIdx.x % 32 / 8 * 4;
}
__device__ int thread_col() {
  return threadIdx.x / 32 % 2 * 32 + threadIdx.x % 8 * 4;
}

__device__ void multiply(const Tiles& tiles, float (&sums)[8][8]) {
  const int row = thread_row(), col = thread_col();
#pragma unroll
  for (int i = 0; i < kDepth; ++i) {
    alignas(16) float of_a[8];
    alignas(16) float of_b[8];
    *reinterpret_cast<float4*>(of_a) = *reinterpret_cast<const float4*>(&tiles.a[i][row]);
    *reinterpret_cast<float4*>(of_a + 4) = *reinterpret_cast<const float4*>(&tiles.a[i][row + 64]);
    *reinterpret_cast<float4*>(of_b) = *reinterpret_cast<const float4*>(&tiles.b[i][col]);
    *reinterpret_cast<float4*>(of_b + 4) = *reinterpret_cast<const float4*>(&tiles.b[i][col + 64]);
#pragma unroll
    for (int r = 0; r < 8; ++r) {
#pragma unroll
      for (int s = 0; s < 8; ++s) sums[r][s] += of_a[r] * of_b[s];
    }
  }
}

__device__ void store(const float (&sums)[8][8], int m, int n, int top, int left, float* c) {
#pragma unroll
  for (int r = 0; r < 8; ++r) {
    const int row = top + thread_row() + r % 4 + r / 4 * 64;
    if (row >= m) continue;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int col = left + thread_col() + half * 64;
      const float* four = &sums[r][half * 4];
      float* at = c + size_t(row) * n + col;
      if (n % 4 == 0 && col + 4 <= n) {
        *reinterpret_cast<float4*>(at) = make_float4(four[0], four[1], four[2], four[3]);
      } else {
        for (int s = 0; s < 4; ++s)
          if (col + s < n) at[s] = four[s];
      }
    }
  }
}

__global__ void __launch_bounds__(kThreads, 2)
    matmul_kernel(const float* a, const float* b, int m, int n, int k, float* c) {
  __shared__ Tiles tiles[kBuffers];
  const int top = blockIdx.y * kRows, left = blockIdx.x * kCols;
  float sums[8][8] = {};
  keep(tiles[0], fetch(a, b, m, n, k, top, left, 0));
  __syncthreads();
  for (int first = 0, at = 0; first < k; first += kDepth) {
    const bool is_last = first + kDepth >= k;
    Piece next{};
    if (!is_last) next = fetch(a, b, m, n, k, top, left, first + kDepth);
    multiply(tiles[at], sums);
    if (is_last) break;
    if (kBuffers == 1) __syncthreads();
    at = (at + 1) % kBuffers;
    keep(tiles[at], next);
    __syncthreads();
  }
  store(sums, m, n, top, left, c);
}

}  // namespace

cudaError_t matmul_run(const float* a, const float* b, int m, int n, int k, float* c, cudaStream_t stream) {
  const dim3 grid((n + kCols - 1) / kCols, (m + kRows - 1) / kRows);
  matmul_kernel<<<grid, kThreads, 0, stream>>>(a, b, m, n, k, c);
  return cudaGetLastError();
}
