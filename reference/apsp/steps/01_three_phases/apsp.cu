// All-pairs shortest paths, step 1: Floyd-Warshall by 32 x 32 tiles in three phases, staged in shared memory.
//
// Idea    in the round of tile p: first the tile (p, p); then its row and column of tiles, which need
// nothing but
//         it; then all others, which need one tile of that row and one of that column. A tile is relaxed over
//         32 nodes for one trip through memory.
// Shapes  graph [n, n]. Block tile x tile, a thread a cell.
// Cost    3 launches a round; 4 * n^3 / 32 * 4 bytes through L2. Three barriers and two choices a node.
#include <cstddef>

#include "warpgrade/apsp.h"

namespace {

constexpr int kTile = 32;  // handed to the kernels as the size of a block

__device__ int read_cell(const int* graph, int n, int i, int j) {
  return i < n && j < n ? graph[static_cast<std::size_t>(i) * n + j] : kApspInfinity;
}

// `left` [i, k] and `right` [k, j] stage the two panels; where one is the tile itself, its changes count
// at once.
__device__ void apsp_relax_tile(int n, int pivot, int tile_i, int tile_j, int* graph) {
  extern __shared__ int shared[];
  const int tile = blockDim.x, y = threadIdx.y, x = threadIdx.x;
  int *own = shared, *left = own + tile * tile, *right = left + tile * tile;
  const int i = tile_i * tile + y, j = tile_j * tile + x;
  own[y * tile + x] = read_cell(graph, n, i, j);
  left[y * tile + x] = read_cell(graph, n, i, pivot * tile + x);
  right[y * tile + x] = read_cell(graph, n, pivot * tile + y, j);
  __syncthreads();
  for (int k = 0; k < tile; ++k) {
    const int first = tile_j == pivot ? own[y * tile + k] : left[y * tile + k];
    const int second = tile_i == pivot ? own[k * tile + x] : right[k * tile + x];
    __syncthreads();
    if (first + second < own[y * tile + x]) own[y * tile + x] = first + second;
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
  apsp_relax_tile(n, pivot, tile_i, tile_j, graph);
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
    apsp_pivot_tile_kernel<<<1, block, 3 * kTile * kTile * sizeof(int), stream>>>(n, pivot, graph);
    apsp_pivot_cross_kernel<<<dim3(tiles, 2), block, 3 * kTile * kTile * sizeof(int), stream>>>(n, pivot,
                                                                                                graph);
    apsp_other_tiles_kernel<<<dim3(tiles, tiles), block, 3 * kTile * kTile * sizeof(int), stream>>>(n, pivot,
                                                                                                    graph);
  }
  return cudaGetLastError();
}

void apsp_free(ApspPlan*) {}
