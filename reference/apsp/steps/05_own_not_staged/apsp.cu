// All-pairs shortest paths, step 5: a block's own tile is not staged.
//
// Idea    the own cell is read by its own thread alone: it goes straight to a register, and shared
// memory holds
//         two panels in place of three tiles.
// Shapes  graph [n, n]. Block tile x tile, a thread a cell.
// Cost    as step 4; 8 KB of shared memory a block in place of 12.
#include <cstddef>

#include "warpgrade/apsp.h"

namespace {

constexpr int kTile = 32;  // handed to the kernels as the size of a block

__device__ int read_cell(const int* graph, int n, int i, int j) {
  return i < n && j < n ? graph[static_cast<std::size_t>(i) * n + j] : kApspInfinity;
}

// Phases 1 and 2. A panel that is the tile itself is read from `own`: chosen once, as a pointer.
__device__ void apsp_relax_tile(int n, int pivot, int tile_i, int tile_j, int* graph) {
  extern __shared__ int shared[];
  const int tile = blockDim.x, y = threadIdx.y, x = threadIdx.x;
  int *own = shared, *diagonal = own + tile * tile;
  const int i = tile_i * tile + y, j = tile_j * tile + x;
  own[y * tile + x] = read_cell(graph, n, i, j);
  diagonal[y * tile + x] = read_cell(graph, n, pivot * tile + y, pivot * tile + x);
  const int* left = tile_j == pivot ? own : diagonal;
  const int* right = tile_i == pivot ? own : diagonal;
  __syncthreads();
  for (int k = 0; k < tile; ++k) {
    const int through = left[y * tile + k] + right[k * tile + x];
    __syncthreads();
    own[y * tile + x] = min(own[y * tile + x], through);
    __syncthreads();
  }
  if (i < n && j < n) graph[static_cast<std::size_t>(i) * n + j] = own[y * tile + x];
}

__global__ void apsp_pivot_tile_kernel(int n, int pivot, int* graph) {
  apsp_relax_tile(n, pivot, pivot, pivot, graph);
}

// Grid: x = tiles, y = 0 for the row of tiles, 1 for the column.
__global__ void apsp_pivot_cross_kernel(int n, int pivot, int* graph) {
  const int tile = blockIdx.x;
  if (tile == pivot) return;
  if (blockIdx.y == 0)
    apsp_relax_tile(n, pivot, pivot, tile, graph);
  else
    apsp_relax_tile(n, pivot, tile, pivot, graph);
}

__global__ void apsp_other_tiles_kernel(int n, int pivot, int* graph) {
  const int tile_i = blockIdx.y, tile_j = blockIdx.x;
  if (tile_i == pivot || tile_j == pivot) return;
  extern __shared__ int shared[];
  const int tile = blockDim.x, y = threadIdx.y, x = threadIdx.x;
  int *left = shared, *right = left + tile * tile;
  const int i = tile_i * tile + y, j = tile_j * tile + x;
  left[y * tile + x] = read_cell(graph, n, i, pivot * tile + x);
  right[y * tile + x] = read_cell(graph, n, pivot * tile + y, j);
  int best = read_cell(graph, n, i, j);
  __syncthreads();
  for (int k = 0; k < tile; ++k) best = min(best, left[y * tile + k] + right[k * tile + x]);
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
    apsp_pivot_tile_kernel<<<1, block, 2 * kTile * kTile * sizeof(int), stream>>>(n, pivot, graph);
    apsp_pivot_cross_kernel<<<dim3(tiles, 2), block, 2 * kTile * kTile * sizeof(int), stream>>>(n, pivot,
                                                                                                graph);
    apsp_other_tiles_kernel<<<dim3(tiles, tiles), block, 2 * kTile * kTile * sizeof(int), stream>>>(n, pivot,
                                                                                                    graph);
  }
  return cudaGetLastError();
}

void apsp_free(ApspPlan*) {}
