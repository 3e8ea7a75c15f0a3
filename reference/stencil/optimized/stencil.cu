// Stencil, optimized: a thread walks up columns of four neighbouring cells in registers; its own row comes in
// 16-byte loads, neighbours beside it from other lanes, rows before and behind from L1. Rows that begin at no
// multiple of 16 bytes are walked a cell a thread, as in step 1.
//
// Cost  8 bytes a cell: three 16-byte loads for four cells, of which two hit L1.
#include "warpgrade/stencil.h"

namespace {

constexpr int kRows = 8;
constexpr unsigned kAll = 0xFFFFFFFFu;

__device__ float4 four_at(const float* in, size_t i) {
  return __ldg(reinterpret_cast<const float4*>(in + i));
}

template <int kPlanes>
__global__ void __launch_bounds__(32 * kRows)
    stencil_vector_kernel(const float* in, int nz, int ny, int nx, float centre, float side, float* out) {
  const int lane = threadIdx.x, x = (blockIdx.x * 32 + lane) * 4, y = blockIdx.y * kRows + threadIdx.y;
  const int first = blockIdx.z * kPlanes, last = min(nz, first + kPlanes);
  if (y >= ny) return;  // a whole warp
  const bool has_cells = x<nx, inside_row = y> 0 && y < ny - 1;
  const size_t row = nx, plane = row * ny;
  size_t i = first * plane + y * row + x;
  const float4 none = make_float4(0, 0, 0, 0);
  float4 below = has_cells && first > 0 ? four_at(in, i - plane) : none,
         here = has_cells ? four_at(in, i) : none;
  for (int z = first; z < last; ++z, i += plane) {
    const float4 above = has_cells && z + 1 < nz ? four_at(in, i + plane) : none;
    float left = __shfl_up_sync(kAll, here.w, 1), right = __shfl_down_sync(kAll, here.x, 1);
    if (lane == 0 && has_cells && x > 0) left = __ldg(in + i - 1);
    if (lane == 31 && x + 4 < nx) right = __ldg(in + i + 4);
    if (has_cells) {
      float4 result = here;
      if (inside_row && z > 0 && z < nz - 1) {
        const float4 before = four_at(in, i - row), behind = four_at(in, i + row);
        if (x > 0)
          result.x = centre * here.x + side * (left + here.y + before.x + behind.x + below.x + above.x);
        result.y = centre * here.y + side * (here.x + here.z + before.y + behind.y + below.y + above.y);
        result.z = centre * here.z + side * (here.y + here.w + before.z + behind.z + below.z + above.z);
        if (x + 4 < nx)
          result.w = centre * here.w + side * (here.z + right + before.w + behind.w + below.w + above.w);
      }
      __stcs(reinterpret_cast<float4*>(out + i), result);
    }
    below = here;
    here = above;
  }
}

template <int kPlanes>
__global__ void stencil_kernel(const float* in, int nz, int ny, int nx, float centre, float side,
                               float* out) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * kRows + threadIdx.y,
            first = blockIdx.z * kPlanes;
  if (x >= nx || y >= ny) return;
  const size_t row = nx, plane = row * ny;
  size_t i = first * plane + y * row + x;
  const bool inside = x > 0 && x < nx - 1 && y > 0 && y < ny - 1;
  float below = first > 0 ? in[i - plane] : 0, here = in[i];
  for (int z = first; z < nz && z < first + kPlanes; ++z, i += plane) {
    const float above = z + 1 < nz ? in[i + plane] : 0;
    out[i] = inside && z > 0 && z < nz - 1
                 ? centre * here + side * (in[i - 1] + in[i + 1] + in[i - row] + in[i + row] + below + above)
                 : here;
    below = here;
    here = above;
  }
}

// kPlanes: how many a thread walks up. A constant, so that the loop is unrolled: loads of later planes are on
// their way early (with a variable box-512 took 226 us on an H200, with a constant 205).
template <int kPlanes>
cudaError_t launch(const float* in, int nz, int ny, int nx, float centre, float side, float* out, dim3 grid,
                   cudaStream_t stream) {
  const dim3 block(32, kRows);
  grid.z = (nz + kPlanes - 1) / kPlanes;
  if (nx % 4 == 0)
    stencil_vector_kernel<kPlanes><<<grid, block, 0, stream>>>(in, nz, ny, nx, centre, side, out);
  else
    stencil_kernel<kPlanes><<<grid, block, 0, stream>>>(in, nz, ny, nx, centre, side, out);
  return cudaGetLastError();
}

}  // namespace

cudaError_t stencil_run(const float* in, int nz, int ny, int nx, float centre, float side, float* out,
                        cudaStream_t stream) {
  constexpr int kLong = 64, kShort = 8;
  const int width = nx % 4 == 0 ? 128 : 32;
  const dim3 grid((nx + width - 1) / width, (ny + kRows - 1) / kRows);
  int device = 0, multiprocessors = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  // Each run of planes reads two planes of its neighbours' again: runs are long where that leaves every SM
  // its eight blocks.
  const long long blocks = (long long)(grid.x) * grid.y * ((nz + kLong - 1) / kLong);
  return blocks >= 8 * multiprocessors ? launch<kLong>(in, nz, ny, nx, centre, side, out, grid, stream)
                                       : launch<kShort>(in, nz, ny, nx, centre, side, out, grid, stream);
}
