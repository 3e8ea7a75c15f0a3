// Wrong: rows of the output are taken to be as long as those of the input.
//
// Cost  8·rows·cols bytes at best; a warp's store touches 32 lines.
#include "warpgrade/transpose.h"

namespace {

__global__ void transpose_kernel(const float* in, int rows, int cols, float* out) {
  const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (size_t(col) * cols + row < size_t(rows) * cols && row < rows && col < cols)
    out[size_t(col) * cols + row] = in[size_t(row) * cols + col];
}

}  // namespace

cudaError_t transpose_run(const float* in, int rows, int cols, float* out, cudaStream_t stream) {
  const dim3 grid((cols + 31) / 32, (rows + 7) / 8), block(32, 8);
  transpose_kernel<<<grid, block, 0, stream>>>(in, rows, cols, out);
  return cudaGetLastError();
}
