// Wrong: the rounds are n / 32, rounded down: no path goes through the nodes of a last tile that is not full.
#include <cstddef>

#include "warpgrade/apsp.h"

namespace {

constexpr int kTile = 32;
constexpr int kNone = kApspInfinity;  // beyond the matrix

__device__ int cell(const int* graph, int n, int i, int j) {
  return i < n && j < n ? graph[static_cast<std::size_t>(i) * n + j] : kNone;
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
  relax(n, pivot, pivot, pivot, graph);
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
  if (tile_i != pivot && tile_j != pivot) relax(n, pivot, tile_i, tile_j, graph);
}

}  // namespace

cudaError_t apsp_plan(int, ApspPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t apsp_run(int n, int* graph, ApspPlan*, cudaStream_t stream) {
  const int tiles = (n + kTile - 1) / kTile;
  const dim3 threads(kTile, kTile);
  for (int pivot = 0; pivot < n / kTile; ++pivot) {
    diagonal_kernel<<<1, threads, 0, stream>>>(n, pivot, graph);
    cross_kernel<<<dim3(tiles, 2), threads, 0, stream>>>(n, pivot, graph);
    others_kernel<<<dim3(tiles, tiles), threads, 0, stream>>>(n, pivot, graph);
  }
  return cudaGetLastError();
}

void apsp_free(ApspPlan*) {}
