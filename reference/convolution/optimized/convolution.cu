// Convolution, optimized. Filters of 3 x 3 and 5 x 5: a thread walks down four neighbouring columns; the
// filter and the sums of the rows that it covers lie in registers, neighbours beside come from other lanes.
// Larger ones: a thread makes sixteen cells of a column, with strips of the tile's columns in registers, as
// in step 2; the filter lies transposed in shared memory, its columns in vectors of four. The radius is a
// template's parameter up to 8.
//
// Cost  8 bytes a cell, and two rows in eight again for 3 x 3; larger: of shared memory (16 + 2 *
// radius) loads
//       of the tile and (2 * radius + 1) / 4 of the filter for 16 * (2 * radius + 1) multiply-adds.
#include "warpgrade/convolution.h"

namespace {

constexpr int kTileX = 64, kThreadsY = 4;

template <int R, int kRows>
__global__ void __launch_bounds__(kTileX* kThreadsY)
    convolution_column_kernel(const float* in, const float* filter, int ny, int nx, float* out) {
  constexpr int kSide = 2 * R + 1, kTileY = kThreadsY * kRows;
  constexpr int kWidth = kTileX + 2 * R, kHeight = kTileY + 2 * R;
  constexpr int kPitch = (kSide + 3) / 4 * 4;  // the filter's columns begin at multiples of 16 bytes
  __shared__ float tile[kHeight * kWidth];
  __shared__ alignas(16) float weights[kSide * kPitch];
  const int left = blockIdx.x * kTileX - R, top = blockIdx.y * kTileY - R;
  const int thread = threadIdx.y * kTileX + threadIdx.x;
  for (int i = thread; i < kWidth * kHeight; i += kTileX * kThreadsY) {
    const int y = top + i / kWidth, x = left + i % kWidth;
    tile[i] = y >= 0 && y < ny && x >= 0 && x < nx ? in[size_t(y) * nx + x] : 0;
  }
  for (int i = thread; i < kSide * kSide; i += kTileX * kThreadsY)
    weights[i % kSide * kPitch + i / kSide] = filter[i];
  __syncthreads();
  float sums[kRows] = {};
  const int first = threadIdx.y * kRows;
  for (int dx = 0; dx < kSide; ++dx) {
    float strip[kRows + 2 * R];
#pragma unroll
    for (int i = 0; i < kRows + 2 * R; ++i) strip[i] = tile[(first + i) * kWidth + threadIdx.x + dx];
    alignas(16) float column[kPitch];
#pragma unroll
    for (int i = 0; i < kPitch; i += 4)
      *reinterpret_cast<float4*>(column + i) = *reinterpret_cast<const float4*>(weights + dx * kPitch + i);
#pragma unroll
    for (int dy = 0; dy < kSide; ++dy) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) sums[i] += column[dy] * strip[i + dy];
    }
  }
  const int x = left + R + threadIdx.x, y = top + R + first;
#pragma unroll
  for (int i = 0; i < kRows; ++i)
    if (x < nx && y + i < ny) out[size_t(y + i) * nx + x] = sums[i];
}

constexpr int kWalk = 8;   // rows that a thread makes on its way down
constexpr int kAhead = 2;  // rows that are on their way from memory
constexpr unsigned kAll = 0xFFFFFFFFu;

__device__ float4 four_at(const float* in, int ny, int nx, int y, int x) {
  const bool inside = y >= 0 && y < ny && x < nx;
  return inside ? __ldg(reinterpret_cast<const float4*>(in + size_t(y) * nx + x)) : make_float4(0, 0, 0, 0);
}

// A lane's four cells and R on either side, of its neighbours or, at the warp's ends, of memory.
template <int R>
__device__ void widen(const float* in, int ny, int nx, int y, int x, float4 four, float (&row)[4 + 2 * R]) {
  static_assert(R == 1 || R == 2);
  row[R] = four.x;
  row[R + 1] = four.y;
  row[R + 2] = four.z;
  row[R + 3] = four.w;
  row[R - 1] = __shfl_up_sync(kAll, four.w, 1);
  row[R + 4] = __shfl_down_sync(kAll, four.x, 1);
  if (R == 2) {
    row[0] = __shfl_up_sync(kAll, four.z, 1);
    row[2 * R + 3] = __shfl_down_sync(kAll, four.y, 1);
  }
  const bool has_row = y >= 0 && y < ny;
  const float* at = in + size_t(has_row ? y : 0) * nx;
  if (threadIdx.x == 0) {
#pragma unroll
    for (int r = 1; r <= R; ++r) row[R - r] = has_row && x >= r ? __ldg(at + x - r) : 0;
  }
  if (threadIdx.x == 31) {
#pragma unroll
    for (int r = 0; r < R; ++r) row[R + 4 + r] = has_row && x + 4 + r < nx ? __ldg(at + x + 4 + r) : 0;
  }
}

// For rows of whole vectors. sums[j] is of the row that is R - j above the one that has come.
template <int R>
__global__ void __launch_bounds__(32 * kThreadsY)
    convolution_walk_kernel(const float* in, const float* filter, int ny, int nx, float* out) {
  constexpr int kSide = 2 * R + 1;
  const int x = (blockIdx.x * 32 + threadIdx.x) * 4, first = (blockIdx.y * kThreadsY + threadIdx.y) * kWalk;
  if (first >= ny) return;  // a whole warp
  float weights[kSide][kSide];
#pragma unroll
  for (int i = 0; i < kSide * kSide; ++i) weights[i / kSide][i % kSide] = __ldg(filter + i);
  float sums[kSide][4] = {};
  float4 coming[kAhead];
#pragma unroll
  for (int i = 0; i < kAhead; ++i) coming[i] = four_at(in, ny, nx, first - R + i, x);
#pragma unroll
  for (int i = 0; i < kWalk + 2 * R; ++i) {
    const int y = first - R + i;
    const float4 four = coming[i % kAhead];
    coming[i % kAhead] = four_at(in, ny, nx, y + kAhead, x);
    float row[4 + 2 * R];
    widen<R>(in, ny, nx, y, x, four, row);
#pragma unroll
    for (int j = 0; j < kSide; ++j) {
#pragma unroll
      for (int dx = 0; dx < kSide; ++dx) {
#pragma unroll
        for (int c = 0; c < 4; ++c) sums[j][c] += weights[kSide - 1 - j][dx] * row[c + dx];
      }
    }
    if (i >= 2 * R && y - R < ny && x < nx)
      *reinterpret_cast<float4*>(out + size_t(y - R) * nx + x) =
          make_float4(sums[0][0], sums[0][1], sums[0][2], sums[0][3]);
#pragma unroll
    for (int j = 0; j < kSide; ++j) {
#pragma unroll
      for (int c = 0; c < 4; ++c) sums[j][c] = j + 1 < kSide ? sums[j + 1][c] : 0;
    }
  }
}

template <int R>
cudaError_t walk(const float* in, const float* filter, int ny, int nx, float* out, cudaStream_t stream) {
  constexpr int kBlockRows = kThreadsY * kWalk;
  const dim3 grid((nx + 127) / 128, (ny + kBlockRows - 1) / kBlockRows), block(32, kThreadsY);
  convolution_walk_kernel<R><<<grid, block, 0, stream>>>(in, filter, ny, nx, out);
  return cudaGetLastError();
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
  constexpr int kRows = R < 3 ? 8 : 16,  // small ones: memory is what counts, and needs many threads
      kTileY = kThreadsY * kRows;
  const dim3 grid((nx + kTileX - 1) / kTileX, (ny + kTileY - 1) / kTileY), block(kTileX, kThreadsY);
  convolution_column_kernel<R, kRows><<<grid, block, 0, stream>>>(in, filter, ny, nx, out);
  return cudaGetLastError();
}

}  // namespace

cudaError_t convolution_run(const float* in, const float* filter, int ny, int nx, int radius, float* out,
                            cudaStream_t stream) {
  if (nx % 4 == 0 && radius == 1) return walk<1>(in, filter, ny, nx, out, stream);
  if (nx % 4 == 0 && radius == 2) return walk<2>(in, filter, ny, nx, out, stream);
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
