// Convolution, optimized: a thread makes sixteen cells of a column (eight where the filter is small and
// memory is what counts), with strips of the tile's columns in registers, as in step 2; the filter lies
// transposed in shared memory, so that a column of it comes in loads of consecutive words. The radius is a
// template's parameter up to 8.
//
// Cost  8 bytes a cell and the tiles' margins; of shared memory (16 + 2 * radius) loads of the tile and
//       2 * radius + 1 of the filter for 16 * (2 * radius + 1) multiply-adds: from radius 3 on arithmetic is
//       what counts.
#include "warpgrade/convolution.h"

namespace {

constexpr int kTileX = 64, kThreadsY = 4;

template <int R, int kRows>
__global__ void __launch_bounds__(kTileX* kThreadsY)
    convolution_column_kernel(const float* in, const float* filter, int ny, int nx, float* out) {
  constexpr int kSide = 2 * R + 1, kTileY = kThreadsY * kRows;
  constexpr int kWidth = kTileX + 2 * R, kHeight = kTileY + 2 * R;
  __shared__ float tile[kHeight * kWidth], weights[kSide * kSide];
  const int left = blockIdx.x * kTileX - R, top = blockIdx.y * kTileY - R;
  const int thread = threadIdx.y * kTileX + threadIdx.x;
  for (int i = thread; i < kWidth * kHeight; i += kTileX * kThreadsY) {
    const int y = top + i / kWidth, x = left + i % kWidth;
    tile[i] = y >= 0 && y < ny && x >= 0 && x < nx ? in[size_t(y) * nx + x] : 0;
  }
  for (int i = thread; i < kSide * kSide; i += kTileX * kThreadsY)
    weights[i % kSide * kSide + i / kSide] = filter[i];
  __syncthreads();
  float sums[kRows] = {};
  const int first = threadIdx.y * kRows;
  for (int dx = 0; dx < kSide; ++dx) {
    float strip[kRows + 2 * R];
#pragma unroll
    for (int i = 0; i < kRows + 2 * R; ++i) strip[i] = tile[(first + i) * kWidth + threadIdx.x + dx];
#pragma unroll
    for (int dy = 0; dy < kSide; ++dy) {
      const float weight = weights[dx * kSide + dy];
#pragma unroll
      for (int i = 0; i < kRows; ++i) sums[i] += weight * strip[i + dy];
    }
  }
  const int x = left + R + threadIdx.x, y = top + R + first;
#pragma unroll
  for (int i = 0; i < kRows; ++i)
    if (x < nx && y + i < ny) out[size_t(y + i) * nx + x] = sums[i];
}

__global__ void convolution_any_kernel(const float* in, const float* filter, int ny, int nx, int radius,
                                       float* out) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= nx || y >= ny) return;
  const int side = 2 * radius + 1;
  float sum = 0;
  for (int dy = max(0, radius - y); dy < min(side, ny + radius - y); ++dy) {
    for (int dx = max(0, radius - x); dx < min(side, nx + radius - x); ++dx)
      sum += filter[dy * side + dx] * in[size_t(y + dy - radius) * nx + x + dx - radius];
  }
  out[size_t(y) * nx + x] = sum;
}

template <int R>
cudaError_t launch(const float* in, const float* filter, int ny, int nx, float* out, cudaStream_t stream) {
  constexpr int kRows = R < 3 ? 8 : 16, kTileY = kThreadsY * kRows;
  const dim3 grid((nx + kTileX - 1) / kTileX, (ny + kTileY - 1) / kTileY), block(kTileX, kThreadsY);
  convolution_column_kernel<R, kRows><<<grid, block, 0, stream>>>(in, filter, ny, nx, out);
  return cudaGetLastError();
}

}  // namespace

cudaError_t convolution_run(const float* in, const float* filter, int ny, int nx, int radius, float* out,
                            cudaStream_t stream) {
  switch (radius) {
    case 1:
      return launch<1>(in, filter, ny, nx, out, stream);
    case 2:
      return launch<2>(in, filter, ny, nx, out, stream);
    case 3:
      return launch<3>(in, filter, ny, nx, out, stream);
    case 4:
      return launch<4>(in, filter, ny, nx, out, stream);
    case 5:
      return launch<5>(in, filter, ny, nx, out, stream);
    case 6:
      return launch<6>(in, filter, ny, nx, out, stream);
    case 7:
      return launch<7>(in, filter, ny, nx, out, stream);
    case 8:
      return launch<8>(in, filter, ny, nx, out, stream);
    default:
      break;
  }
  const dim3 grid((nx + 31) / 32, (ny + 7) / 8), block(32, 8);
  convolution_any_kernel<<<grid, block, 0, stream>>>(in, filter, ny, nx, radius, out);
  return cudaGetLastError();
}
