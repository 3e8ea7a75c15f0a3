// All-pairs shortest paths: blocked Floyd-Warshall whose phases 2 and 3 are min-plus products of tiles.
//
// Idea    once the tile on the diagonal is solved, its diagonal is 0 and no path through its nodes gets
// shorter
//         by going round again: its row and column of tiles are plain products with it, as all others are
//         with those. Tiles of 128 move the matrix once in 128 nodes and keep 8 x 8 cells a thread; for small
//         n tiles of 64 give every SM one.
// Shapes  graph [n, n]. Where the tile does not divide n, the work is done on a copy padded with infinities.
// Cost    n^3 relaxations at 64 lanes a clock an SM; 8 * n^3 / tile bytes.
#include <new>

#include "min_plus.cuh"
#include "pivot.cuh"
#include "warpgrade/apsp.h"

#ifndef APSP_LARGE_FROM
#define APSP_LARGE_FROM 3000  // nodes from which tiles of 128 win
#endif

struct ApspPlan {
  int* padded = nullptr;  // [pitch, pitch] unless the tile divides n
  int pitch = 0;
};

namespace {

using namespace apsp;

constexpr int kCopyThreads = 256;

bool uses_large_tiles(int n) {
  return n >= APSP_LARGE_FROM;
}

// Grid: x = pieces of a row, y = rows of the padded matrix.
__global__ void __launch_bounds__(kCopyThreads)
    apsp_pad_kernel(const int* graph, int n, int* padded, int pitch) {
  const int i = blockIdx.y, j = blockIdx.x * kCopyThreads + threadIdx.x;
  if (j >= pitch) return;
  const bool inside = i < n && j < n;
  padded[static_cast<std::size_t>(i) * pitch + j] =
      inside ? graph[static_cast<std::size_t>(i) * n + j] : (i == j ? 0 : kApspInfinity);
}

__global__ void __launch_bounds__(kCopyThreads)
    apsp_unpad_kernel(const int* padded, int pitch, int* graph, int n) {
  const int i = blockIdx.y, j = blockIdx.x * kCopyThreads + threadIdx.x;
  if (j < n) graph[static_cast<std::size_t>(i) * n + j] = padded[static_cast<std::size_t>(i) * pitch + j];
}

// Grid: x = tiles but the pivot, y = 0 for its row of tiles, 1 for its column.
template <typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kResident)
    apsp_cross_kernel(int* graph, std::size_t pitch, int pivot) {
  extern __shared__ __align__(16) int shared[];
  const int tile = blockIdx.x + (blockIdx.x >= static_cast<unsigned>(pivot) ? 1 : 0);
  const bool in_row = blockIdx.y == 0;
  const std::size_t to_row = static_cast<std::size_t>(in_row ? pivot : tile) * Shape::kTile * pitch;
  int* diagonal = graph + (pitch + 1) * pivot * Shape::kTile;
  int* own = graph + to_row + static_cast<std::size_t>(in_row ? tile : pivot) * Shape::kTile;
  min_plus_tile<Shape>(in_row ? diagonal : own, in_row ? own : diagonal, own, pitch, shared);
}

// Grid: all tiles outside the pivot's row and column.
template <typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kResident)
    apsp_product_kernel(int* graph, std::size_t pitch, int pivot) {
  extern __shared__ __align__(16) int shared[];
  const std::size_t i = blockIdx.y + (blockIdx.y >= static_cast<unsigned>(pivot) ? 1 : 0);
  const std::size_t j = blockIdx.x + (blockIdx.x >= static_cast<unsigned>(pivot) ? 1 : 0);
  const std::size_t k = pivot;
  constexpr std::size_t kTile = Shape::kTile;
  min_plus_tile<Shape>(graph + (i * pitch + k) * kTile, graph + (k * pitch + j) * kTile,
                       graph + (i * pitch + j) * kTile, pitch, shared);
}

template <typename Shape>
cudaError_t allow_shared_memory() {
  const cudaError_t error = cudaFuncSetAttribute(
      apsp_cross_kernel<Shape>, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::kSharedBytes);
  if (error != cudaSuccess) return error;
  return cudaFuncSetAttribute(apsp_product_kernel<Shape>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              Shape::kSharedBytes);
}

template <typename Shape>
cudaError_t solve(int* graph, int pitch, cudaStream_t stream) {
  constexpr int kTile = Shape::kTile, kPivotThreads = kTile / 4 * (kTile / 4);
  const int tiles = pitch / kTile;
  const unsigned others = tiles - 1;
  for (int pivot = 0; pivot < tiles; ++pivot) {
    int* diagonal = graph + (static_cast<std::size_t>(pitch) + 1) * pivot * kTile;
    apsp_pivot_kernel<kTile><<<1, kPivotThreads, 0, stream>>>(diagonal, pitch);
    if (others == 0) break;
    apsp_cross_kernel<Shape>
        <<<dim3(others, 2), Shape::kThreads, Shape::kSharedBytes, stream>>>(graph, pitch, pivot);
    apsp_product_kernel<Shape>
        <<<dim3(others, others), Shape::kThreads, Shape::kSharedBytes, stream>>>(graph, pitch, pivot);
  }
  return cudaGetLastError();
}

cudaError_t solve_with_tiles(int n, int* graph, int pitch, cudaStream_t stream) {
  return uses_large_tiles(n) ? solve<Large>(graph, pitch, stream) : solve<Small>(graph, pitch, stream);
}

}  // namespace

cudaError_t apsp_plan(int n, ApspPlan** plan, cudaStream_t) {
  *plan = nullptr;
  cudaError_t error = uses_large_tiles(n) ? allow_shared_memory<Large>() : allow_shared_memory<Small>();
  if (error != cudaSuccess) return error;
  ApspPlan* made = new (std::nothrow) ApspPlan;
  if (made == nullptr) return cudaErrorMemoryAllocation;
  const int tile = uses_large_tiles(n) ? Large::kTile : Small::kTile;
  made->pitch = (n + tile - 1) / tile * tile;
  if (made->pitch != n) {
    error = cudaMalloc(&made->padded, sizeof(int) * static_cast<std::size_t>(made->pitch) * made->pitch);
    if (error != cudaSuccess) {
      delete made;
      return error;
    }
  }
  *plan = made;
  return cudaSuccess;
}

cudaError_t apsp_run(int n, int* graph, ApspPlan* plan, cudaStream_t stream) {
  if (plan->padded == nullptr) return solve_with_tiles(n, graph, n, stream);
  const unsigned pitch = plan->pitch;
  const unsigned pieces = (pitch + kCopyThreads - 1) / kCopyThreads;
  apsp_pad_kernel<<<dim3(pieces, pitch), kCopyThreads, 0, stream>>>(graph, n, plan->padded, plan->pitch);
  const cudaError_t error = solve_with_tiles(n, plan->padded, plan->pitch, stream);
  if (error != cudaSuccess) return error;
  apsp_unpad_kernel<<<dim3(pieces, n), kCopyThreads, 0, stream>>>(plan->padded, plan->pitch, graph, n);
  return cudaGetLastError();
}

void apsp_free(ApspPlan* plan) {
  if (plan == nullptr) return;
  cudaFree(plan->padded);
  delete plan;
}
