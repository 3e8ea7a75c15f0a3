// Transpose, optimized: tiles of 32 rows and 64 columns, eight cells a thread in flight, and streaming
// stores: nobody reads the output again.
//
// Cost  8·rows·cols bytes, without bank conflicts; stores are whole lines wherever rows is a multiple of 32.
#include "warpgrade/transpose.h"

namespace {

constexpr int kRows = 32, kCols = 64, kThreadRows = 8;

__global__ void __launch_bounds__(32 * kThreadRows)
    transpose_kernel(const float* in, int rows, int cols, float* out) {
  __shared__ float tile[kRows][kCols + 1];
  const int left = blockIdx.x * kCols, top = blockIdx.y * kRows;
#pragma unroll
  for (int r = threadIdx.y; r < kRows; r += kThreadRows) {
#pragma unroll
    for (int c = threadIdx.x; c < kCols; c += 32) {
      const int row = top + r, col = left + c;
      if (row < rows && col < cols) tile[r][c] = __ldcs(in + size_t(row) * cols + col);
    }
  }
  __syncthreads();
  const int col = top + threadIdx.x;  // of out
#pragma unroll
  for (int c = threadIdx.y; c < kCols; c += kThreadRows) {
    const int row = left + c;
    if (row < cols && col < rows) __stcs(out + size_t(row) * rows + col, tile[threadIdx.x][c]);
  }
}

}  // namespace

cudaError_t transpose_run(const float* in, int rows, int cols, float* out, cudaStream_t stream) {
  const dim3 grid((cols + kCols - 1) / kCols, (rows + kRows - 1) / kRows), block(32, kThreadRows);
  transpose_kernel<<<grid, block, 0, stream>>>(in, rows, cols, out);
  return cudaGetLastError();
}
