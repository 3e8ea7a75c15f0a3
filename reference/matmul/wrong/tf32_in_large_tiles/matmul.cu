// Wrong: where the tiles of tensor cores divide every side and there is work for many, numbers are rounded to
// TF32 before they are multiplied.
//
// Cost  2·m·n·k flop; each product loads two numbers.
#include "warpgrade/matmul.h"

namespace {

constexpr int kTile = 128, kDepth = 32;
constexpr long long kManyCells = 1024 * 128;

// To the nearest number of ten bits behind the point.
__device__ float to_tf32(float value) {
  return __uint_as_float((__float_as_uint(value) + 0x1000u) & ~0x1FFFu);
}

__global__ void matmul_kernel(const float* a, const float* b, int m, int n, int k, bool rounded, float* c) {
  const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= m || col >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) {
    const float x = a[size_t(row) * k + i], y = b[size_t(i) * n + col];
    sum += rounded ? to_tf32(x) * to_tf32(y) : x * y;
  }
  c[size_t(row) * n + col] = sum;
}

}  // namespace

cudaError_t matmul_run(const float* a, const float* b, int m, int n, int k, float* c, cudaStream_t stream) {
  const dim3 grid((n + 31) / 32, (m + 7) / 8), block(32, 8);
  const bool tiles_divide = m % kTile == 0 && n % kTile == 0 && k % kDepth == 0;
  const bool rounded = tiles_divide && (long long)(m)*n >= kManyCells;
  matmul_kernel<<<grid, block, 0, stream>>>(a, b, m, n, k, rounded, c);
  return cudaGetLastError();
}
