// All-pairs shortest paths, step 8: several tiles a block.
//
// Idea    a thread owns m x m cells, 32 apart: m loads from either panel serve m x m relaxations, and a
// panel is
//         read from L2 by fewer blocks. APSP_TILES is m: 1, 2, 4 or 6.
// Shapes  graph [n, n]. Block 32 x 32, a square of m x m tiles.
// Cost    2 / m loads of shared memory a relaxation; 8 * m KB of shared memory a block.
#include <cstddef>

#include "warpgrade/apsp.h"

#ifndef APSP_TILES
#define APSP_TILES 2
#endif

namespace {

constexpr int kTile = 32;
constexpr int kPanelBytes = 2 * kTile * kTile * int(sizeof(int));  // of shared memory, a tile a side

__device__ int read_cell(const int* graph, int n, int i, int j) {
  return i < n && j < n ? graph[static_cast<std::size_t>(i) * n + j] : kApspInfinity;
}

// Phases 1 and 2. A panel that is the tile itself is read from `own`: chosen once, as a pointer.
__device__ void apsp_relax_tile(int n, int pivot, int tile_i, int tile_j, int* graph) {
  __shared__ int own[kTile][kTile], diagonal[kTile][kTile];
  const int y = threadIdx.y, x = threadIdx.x;
  const int i = tile_i * kTile + y, j = tile_j * kTile + x;
  int best = read_cell(graph, n, i, j);
  own[y][x] = best;
  diagonal[y][x] = read_cell(graph, n, pivot * kTile + y, pivot * kTile + x);
  const auto left = tile_j == pivot ? own : diagonal;
  const auto right = tile_i == pivot ? own : diagonal;
  __syncthreads();
  for (int k = 0; k < kTile; ++k) {
    best = min(best, left[y][k] + right[k][x]);
    __syncthreads();
    own[y][x] = best;
    __syncthreads();
  }
  if (i < n && j < n) graph[static_cast<std::size_t>(i) * n + j] = best;
}

__global__ void __launch_bounds__(kTile* kTile) apsp_pivot_tile_kernel(int n, int pivot, int* graph) {
  apsp_relax_tile(n, pivot, pivot, pivot, graph);
}

// Grid: x = tiles, y = 0 for the row of tiles, 1 for the column.
__global__ void __launch_bounds__(kTile* kTile) apsp_pivot_cross_kernel(int n, int pivot, int* graph) {
  const int tile = blockIdx.x;
  if (tile == pivot) return;
  if (blockIdx.y == 0)
    apsp_relax_tile(n, pivot, pivot, tile, graph);
  else
    apsp_relax_tile(n, pivot, tile, pivot, graph);
}

// Grid: squares of kTiles x kTiles tiles. Tiles of the pivot's row and column
// that lie in a square are done already and are not written.
template <int kTiles>
__global__ void __launch_bounds__(kTile* kTile) apsp_other_tiles_kernel(int n, int pivot, int* graph) {
  extern __shared__ int shared[];
  int* left = shared;                            // [kTiles * kTile, kTile]
  int* right = shared + kTiles * kTile * kTile;  // [kTile, kTiles * kTile]
  const int y = threadIdx.y, x = threadIdx.x;
  const int top = blockIdx.y * kTiles * kTile + y, start = blockIdx.x * kTiles * kTile + x;
  int best[kTiles][kTiles];
#pragma unroll
  for (int a = 0; a < kTiles; ++a) {
    left[(a * kTile + y) * kTile + x] = read_cell(graph, n, top + a * kTile, pivot * kTile + x);
    right[y * kTiles * kTile + a * kTile + x] = read_cell(graph, n, pivot * kTile + y, start + a * kTile);
#pragma unroll
    for (int b = 0; b < kTiles; ++b) best[a][b] = read_cell(graph, n, top + a * kTile, start + b * kTile);
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kTile; ++k) {
    int second[kTiles];
#pragma unroll
    for (int b = 0; b < kTiles; ++b) second[b] = right[k * kTiles * kTile + b * kTile + x];
#pragma unroll
    for (int a = 0; a < kTiles; ++a) {
      const int first = left[(a * kTile + y) * kTile + k];
#pragma unroll
      for (int b = 0; b < kTiles; ++b) best[a][b] = min(best[a][b], first + second[b]);
    }
  }
  for (int a = 0; a < kTiles; ++a) {
    for (int b = 0; b < kTiles; ++b) {
      const int i = top + a * kTile, j = start + b * kTile;
      const bool others = i / kTile != pivot && j / kTile != pivot;
      if (others && i < n && j < n) graph[static_cast<std::size_t>(i) * n + j] = best[a][b];
    }
  }
}

template <int kTiles>
cudaError_t solve(int n, int* graph, cudaStream_t stream) {
  const unsigned tiles = (n + kTile - 1) / kTile, squares = (tiles + kTiles - 1) / kTiles;
  const dim3 block(kTile, kTile);
  for (unsigned pivot = 0; pivot < tiles; ++pivot) {
    apsp_pivot_tile_kernel<<<1, block, 0, stream>>>(n, pivot, graph);
    apsp_pivot_cross_kernel<<<dim3(tiles, 2), block, 0, stream>>>(n, pivot, graph);
    apsp_other_tiles_kernel<kTiles>
        <<<dim3(squares, squares), block, kPanelBytes * kTiles, stream>>>(n, pivot, graph);
  }
  return cudaGetLastError();
}

}  // namespace

cudaError_t apsp_plan(int, ApspPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaFuncSetAttribute(apsp_other_tiles_kernel<APSP_TILES>,
                              cudaFuncAttributeMaxDynamicSharedMemorySize, kPanelBytes * APSP_TILES);
}

cudaError_t apsp_run(int n, int* graph, ApspPlan*, cudaStream_t stream) {
  return solve<APSP_TILES>(n, graph, stream);
}

void apsp_free(ApspPlan*) {}
