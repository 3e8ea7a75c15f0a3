// Blocked Floyd-Warshall without a bounds check: threads beyond n read and write other cells, and some of
// them no cell.
#include <cstddef>

#include "warpgrade/apsp.h"

namespace {

constexpr int kTile = 32;

__global__ void phase1(int n, int round, int* graph) {
  __shared__ int tile[kTile][kTile];
  const int i = round * kTile + threadIdx.y, j = round * kTile + threadIdx.x;
  tile[threadIdx.y][threadIdx.x] = graph[i * n + j];
  __syncthreads();
  for (int k = 0; k < kTile; ++k) {
    const int through = tile[threadIdx.y][k] + tile[k][threadIdx.x];
    if (through < tile[threadIdx.y][threadIdx.x]) tile[threadIdx.y][threadIdx.x] = through;
    __syncthreads();
  }
  graph[i * n + j] = tile[threadIdx.y][threadIdx.x];
}

__global__ void phase2(int n, int round, int* graph) {
  __shared__ int own[kTile][kTile], pivot[kTile][kTile];
  const bool is_row = blockIdx.y == 0;
  const int other = blockIdx.x;
  if (other == round) return;
  const int pi = round * kTile + threadIdx.y, pj = round * kTile + threadIdx.x;
  const int i = (is_row ? round : other) * kTile + threadIdx.y;
  const int j = (is_row ? other : round) * kTile + threadIdx.x;
  pivot[threadIdx.y][threadIdx.x] = graph[pi * n + pj];
  own[threadIdx.y][threadIdx.x] = graph[i * n + j];
  __syncthreads();
  for (int k = 0; k < kTile; ++k) {
    const int through =
        is_row ? pivot[threadIdx.y][k] + own[k][threadIdx.x] : own[threadIdx.y][k] + pivot[k][threadIdx.x];
    if (through < own[threadIdx.y][threadIdx.x]) own[threadIdx.y][threadIdx.x] = through;
    __syncthreads();
  }
  graph[i * n + j] = own[threadIdx.y][threadIdx.x];
}

__global__ void phase3(int n, int round, int* graph) {
  __shared__ int row[kTile][kTile], column[kTile][kTile];
  const int i = blockIdx.y * kTile + threadIdx.y, j = blockIdx.x * kTile + threadIdx.x;
  row[threadIdx.y][threadIdx.x] = graph[(round * kTile + threadIdx.y) * n + j];
  column[threadIdx.y][threadIdx.x] = graph[i * n + round * kTile + threadIdx.x];
  int best = graph[i * n + j];
  __syncthreads();
  for (int k = 0; k < kTile; ++k) best = min(best, column[threadIdx.y][k] + row[k][threadIdx.x]);
  graph[i * n + j] = best;
}

}  // namespace

cudaError_t apsp_plan(int, ApspPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t apsp_run(int n, int* graph, ApspPlan*, cudaStream_t stream) {
  const int tiles = (n + kTile - 1) / kTile;
  const dim3 block(kTile, kTile);
  for (int r = 0; r < tiles; ++r) {
    phase1<<<1, block, 0, stream>>>(n, r, graph);
    phase2<<<dim3(tiles, 2), block, 0, stream>>>(n, r, graph);
    phase3<<<dim3(tiles, tiles), block, 0, stream>>>(n, r, graph);
  }
  return cudaGetLastError();
}

void apsp_free(ApspPlan*) {}
