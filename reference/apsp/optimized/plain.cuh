// Blocked Floyd-Warshall on int32 lengths: exact for every input of the contract.
//
// Shapes  graph [pitch, pitch], pitch a multiple of the tile.
#pragma once

#include "min_plus.cuh"
#include "pivot.cuh"
#include "warpgrade/apsp.h"

namespace apsp {

constexpr int kCopyThreads = 256;

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
  const std::size_t to_row = static_cast<std::size_t>(in_row ? pivot : tile) * Shape::kNodes * pitch;
  const TileAt diagonal{graph + (pitch + 1) * pivot * Shape::kNodes, pitch};
  const TileAt own{graph + to_row + static_cast<std::size_t>(in_row ? tile : pivot) * Shape::kNodes, pitch};
  min_plus_tile<Shape>(in_row ? diagonal : own, in_row ? own : diagonal, own, shared);
}

// Grid: all tiles outside the pivot's row and column.
template <typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kResident)
    apsp_product_kernel(int* graph, std::size_t pitch, int pivot) {
  extern __shared__ __align__(16) int shared[];
  const std::size_t i = blockIdx.y + (blockIdx.y >= static_cast<unsigned>(pivot) ? 1 : 0);
  const std::size_t j = blockIdx.x + (blockIdx.x >= static_cast<unsigned>(pivot) ? 1 : 0);
  const std::size_t k = pivot;
  constexpr std::size_t kNodes = Shape::kNodes;
  min_plus_tile<Shape>({graph + (i * pitch + k) * kNodes, pitch}, {graph + (k * pitch + j) * kNodes, pitch},
                       {graph + (i * pitch + j) * kNodes, pitch}, shared);
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
  constexpr int kTile = Shape::kNodes, kPivotThreads = kTile / 4 * (kTile / 4);
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

}  // namespace apsp
