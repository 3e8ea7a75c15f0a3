// Transpose, step 2: a column more in the tile, so that neighbours in a column lie in different banks.
//
// Cost  8·rows·cols bytes, without bank conflicts.
#include "warpgrade/transpose.h"

namespace {

constexpr int kTile = 32, kRowsAThread = 1, kThreadRows = kTile / kRowsAThread;

__global__ void transpose_kernel(const float* in, int rows, int cols, float* out) {
  __shared__ float tile[kTile][kTile + 1];
  const int left = blockIdx.x * kTile, top = blockIdx.y * kTile;
#pragma unroll
  for (int r = threadIdx.y; r < kTile; r += kThreadRows) {
    const int row = top + r, col = left + threadIdx.x;
    if (row < rows && col < cols) tile[r][threadIdx.x] = in[size_t(row) * cols + col];
  }
  __syncthreads();
#pragma unroll
  for (int r = threadIdx.y; r < kTile; r += kThreadRows) {
    const int row = left + r, col = top + threadIdx.x;  // of out
    if (row < cols && col < rows) out[size_t(row) * rows + col] = tile[threadIdx.x][r];
  }
}

}  // namespace

cudaError_t transpose_run(const float* in, int rows, int cols, float* out, cudaStream_t stream) {
  const dim3 grid((cols + kTile - 1) / kTile, (rows + kTile - 1) / kTile), block(kTile, kThreadRows);
  transpose_kernel<<<grid, block, 0, stream>>>(in, rows, cols, out);
  return cudaGetLastError();
}
