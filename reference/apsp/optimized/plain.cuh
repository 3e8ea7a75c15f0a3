// The copy of a graph that is padded to whole tiles with infinities, which no path uses.
//
// Shapes  graph [n, n]; padded [pitch, pitch], pitch a multiple of the tile.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

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

}  // namespace apsp
