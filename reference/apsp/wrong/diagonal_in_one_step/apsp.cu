// Wrong: the tile on the diagonal gets one min-plus product, where it needs a step for each of its nodes:
// paths of three edges and more inside a tile are lost.
#include <cstddef>

#include "apsp.h"

namespace {

constexpr int kTile = 32;
constexpr int kNone = (1 << 30) - 1;  // beyond the matrix

__device__ int cell(const int* graph, int n, int i, int j) {
  return i < n && j < n ? graph[static_cast<std::size_t>(i) * n + j] : kNone;
}

// The tile (tile_i, tile_j) by one product of its row's and its column's tile, staged before
// anything changes.
__device__ void product(int n, int pivot, int tile_i, int tile_j, int* graph) {
  __shared__ int left[kTile][kTile], right[kTile][kTile];
  const int y = threadIdx.y, x = threadIdx.x, i = tile_i * kTile + y, j = tile_j * kTile + x;
  left[y][x] = cell(graph, n, i, pivot * kTile + x);
  right[y][x] = cell(graph, n, pivot * kTile + y, j);
  __syncthreads();
  int least = cell(graph, n, i, j);
  for (int k = 0; k < kTile; ++k) least = min(least, left[y][k] + right[k][x]);
  if (i < n && j < n) graph[static_cast<std::size_t>(i) * n + j] = least;
}

// The tile (tile_i, tile_j) step by step: changes of the pivot's row and column count at once.
__device__ void relax(int n, int pivot, int tile_i, int tile_j, int* graph) {
  __shared__ int left[kTile][kTile], right[kTile][kTile];
  const int y = threadIdx.y, x = threadIdx.x, i = tile_i * kTile + y, j = tile_j * kTile + x;
  left[y][x] = cell(graph, n, i, pivot * kTile + x);
  right[y][x] = cell(graph, n, pivot * kTile + y, j);
  int own = cell(graph, n, i, j);
  for (int k = 0; k < kTile; ++k) {
    __syncthreads();
    own = min(own, left[y][k] + right[k][x]);
    __syncthreads();
    if (tile_j == pivot) left[y][x] = own;
    if (tile_i == pivot) right[y][x] = own;
  }
  if (i < n && j < n) graph[static_cast<std::size_t>(i) * n + j] = own;
}

__global__ void diagonal_kernel(int n, int pivot, int* graph) {
  product(n, pivot, pivot, pivot, graph);
}

__global__ void cross_kernel(int n, int pivot, int* graph) {
  const int tile = blockIdx.x;
  if (tile == pivot) return;
  if (blockIdx.y == 0)
    relax(n, pivot, pivot, tile, graph);
  else
    relax(n, pivot, tile, pivot, graph);
}

__global__ void others_kernel(int n, int pivot, int* graph) {
  const int tile_i = blockIdx.y, tile_j = blockIdx.x;
  if (tile_i != pivot && tile_j != pivot) product(n, pivot, tile_i, tile_j, graph);
}

}  // namespace

void apsp(int n, /* device */ int* graph) {
  const int tiles = (n + kTile - 1) / kTile;
  const dim3 threads(kTile, kTile);
  for (int pivot = 0; pivot < tiles; ++pivot) {
    diagonal_kernel<<<1, threads>>>(n, pivot, graph);
    cross_kernel<<<dim3(tiles, 2), threads>>>(n, pivot, graph);
    others_kernel<<<dim3(tiles, tiles), threads>>>(n, pivot, graph);
  }
}
