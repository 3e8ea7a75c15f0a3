// Convolution, step 1: a block loads its tile with the filter's margin into shared memory, where zeros stand
// for what lies outside the image; a thread a cell.
//
// Cost  each cell of the image comes from memory about once a tile; (2 * radius + 1)^2 loads of shared memory
//       a cell, and as many of the filter.
#include "warpgrade/convolution.h"

namespace {

constexpr int kTileX = 32, kTileY = 8;

__global__ void __launch_bounds__(kTileX* kTileY)
    convolution_tile_kernel(const float* in, const float* filter, int ny, int nx, int radius, float* out) {
  extern __shared__ float tile[];
  const int side = 2 * radius + 1, width = kTileX + 2 * radius, height = kTileY + 2 * radius;
  const int left = blockIdx.x * kTileX - radius, top = blockIdx.y * kTileY - radius;
  float* const weights = tile + width * height;
  const int thread = threadIdx.y * kTileX + threadIdx.x;
  for (int i = thread; i < width * height; i += kTileX * kTileY) {
    const int y = top + i / width, x = left + i % width;
    tile[i] = y >= 0 && y < ny && x >= 0 && x < nx ? in[size_t(y) * nx + x] : 0;
  }
  for (int i = thread; i < side * side; i += kTileX * kTileY) weights[i] = filter[i];
  __syncthreads();
  const int x = left + radius + threadIdx.x, y = top + radius + threadIdx.y;
  if (x >= nx || y >= ny) return;
  float sum = 0;
  for (int dy = 0; dy < side; ++dy) {
    for (int dx = 0; dx < side; ++dx)
      sum += weights[dy * side + dx] * tile[(threadIdx.y + dy) * width + threadIdx.x + dx];
  }
  out[size_t(y) * nx + x] = sum;
}

}  // namespace

cudaError_t convolution_run(const float* in, const float* filter, int ny, int nx, int radius, float* out,
                            cudaStream_t stream) {
  const dim3 grid((nx + kTileX - 1) / kTileX, (ny + kTileY - 1) / kTileY), block(kTileX, kTileY);
  const int side = 2 * radius + 1;
  const size_t bytes = sizeof(float) * ((kTileX + 2 * radius) * (kTileY + 2 * radius) + side * side);
  convolution_tile_kernel<<<grid, block, bytes, stream>>>(in, filter, ny, nx, radius, out);
  return cudaGetLastError();
}
