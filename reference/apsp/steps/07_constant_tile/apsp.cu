// All-pairs shortest paths, step 7: the size of a tile is a constant.
//
// Idea    the compiler unrolls a loop whose length it knows, and turns addresses in shared memory into
//         constants.
// Shapes  graph [n, n]. Block 32 x 32, a thread a cell.
// Cost    as step 6, less the loop itself.
#include <cstddef>

#include "warpgrade/apsp.h"

namespace {

constexpr int kTile = 32;

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

__global__ void __launch_bounds__(kTile* kTile) apsp_other_tiles_kernel(int n, int pivot, int* graph) {
  const int tile_i = blockIdx.y, tile_j = blockIdx.x;
  if (tile_i == pivot || tile_j == pivot) return;
  __shared__ int left[kTile][kTile], right[kTile][kTile];
  const int y = threadIdx.y, x = threadIdx.x;
  const int i = tile_i * kTile + y, j = tile_j * kTile + x;
  left[y][x] = read_cell(graph, n, i, pivot * kTile + x);
  right[y][x] = read_cell(graph, n, pivot * kTile + y, j);
  int best = read_cell(graph, n, i, j);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kTile; ++k) best = min(best, left[y][k] + right[k][x]);
  if (i < n && j < n) graph[static_cast<std::size_t>(i) * n + j] = best;
}

}  // namespace

cudaError_t apsp_plan(int, ApspPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t apsp_run(int n, int* graph, ApspPlan*, cudaStream_t stream) {
  const unsigned tiles = (n + kTile - 1) / kTile;
  const dim3 block(kTile, kTile);
  for (unsigned pivot = 0; pivot < tiles; ++pivot) {
    apsp_pivot_tile_kernel<<<1, block, 0, stream>>>(n, pivot, graph);
    apsp_pivot_cross_kernel<<<dim3(tiles, 2), block, 0, stream>>>(n, pivot, graph);
    apsp_other_tiles_kernel<<<dim3(tiles, tiles), block, 0, stream>>>(n, pivot, graph);
  }
  return cudaGetLastError();
}

void apsp_free(ApspPlan*) {}
