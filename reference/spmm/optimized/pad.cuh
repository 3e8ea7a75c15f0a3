// B with rows of whole sectors, for a k that is no multiple of 4: rows of 16-byte vectors, each in one sector
// more than it fills at most. A pass over B, against gathers that would take four loads and twice the
// sectors.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace optimized {

struct PadTile {
  static constexpr int kLanes = 32, kRows = 8;  // a warp a row
  static constexpr int kMostBlocks = 1 << 20;
};

// Grid: x = rows, kRows a block, wrapped around. Cost: 4 * n * (k + pitch) bytes.
__global__ void __launch_bounds__(PadTile::kLanes* PadTile::kRows)
    spmm_pad_kernel(const float* __restrict__ b,  // [rows, k]
                    int rows, int k,
                    float* padded,  // [rows, pitch]
                    int pitch) {
  for (std::int64_t row = blockIdx.x * std::int64_t{PadTile::kRows} + threadIdx.y; row < rows;
       row += gridDim.x * std::int64_t{PadTile::kRows}) {
    for (int column = threadIdx.x; column < pitch; column += PadTile::kLanes)
      padded[row * pitch + column] = column < k ? __ldcs(b + row * k + column) : 0.0f;
  }
}

}  // namespace optimized
