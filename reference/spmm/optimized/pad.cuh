// B with rows of whole 16-byte vectors, or of whole lines, for a k that is no multiple of them: one load
// reads four floats, and a row touches no more lines than it must. A pass over B, against gathers that would
// take four loads and more lines.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace optimized {

struct PadTile {
  static constexpr int kThreads = 256;
  static constexpr int kVector = 4;    // floats
  static constexpr int kInFlight = 4;  // vectors a thread has under way: 16 loads
  // As many rows a block as give each of its threads that many vectors.
  static int rows_per_block(int pitch) { return std::max(1, kThreads * kInFlight * kVector / pitch); }
};

// Grid: x = rows, rows_per_block each. Cost: 4 * rows * (k + pitch) bytes. pitch is a multiple of 4.
__global__ void __launch_bounds__(PadTile::kThreads)
    spmm_pad_kernel(const float* __restrict__ b,  // [rows, k]
                    int rows, int k,
                    float* __restrict__ padded,  // [rows, pitch], 16-byte aligned
                    int pitch, int rows_per_block) {
  const int vectors_per_row = pitch / PadTile::kVector;
  const std::int64_t first_row = std::int64_t{blockIdx.x} * rows_per_block;
  const int vectors = static_cast<int>(min(std::int64_t{rows_per_block}, rows - first_row)) * vectors_per_row;
  const float* const from = b + first_row * k;
  float4* const to = reinterpret_cast<float4*>(padded + first_row * pitch);
  for (int base = threadIdx.x; base < vectors; base += PadTile::kThreads * PadTile::kInFlight) {
    float parts[PadTile::kInFlight][PadTile::kVector];
#pragma unroll
    for (int u = 0; u < PadTile::kInFlight; ++u) {
      const int vector = base + u * PadTile::kThreads, row = vector / vectors_per_row;
      const int column = (vector - row * vectors_per_row) * PadTile::kVector;
#pragma unroll
      for (int i = 0; i < PadTile::kVector; ++i) {
        const bool exists = vector < vectors && column + i < k;
        parts[u][i] = exists ? __ldg(from + std::int64_t{row} * k + column + i) : 0.0f;
      }
    }
#pragma unroll
    for (int u = 0; u < PadTile::kInFlight; ++u) {
      const int vector = base + u * PadTile::kThreads;
      if (vector < vectors) to[vector] = {parts[u][0], parts[u][1], parts[u][2], parts[u][3]};
    }
  }
}

}  // namespace optimized
