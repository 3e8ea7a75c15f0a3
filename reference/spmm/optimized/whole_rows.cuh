// The kernel for short rows whose columns are near the diagonal (meshes, roads) and wide B: a warp walks all
// of k at once.
//
// Shapes  A [m, n] CSR, B [n, b_pitch], C [m, k] row-major, fp32; k a multiple of 4.
// Cost    8 * nnz + 4 * m + 4 * (n + m) * k bytes where neighbouring rows find each other's rows of B in L1
// and L2. Idea    No items are read and nothing is combined: a warp takes kRows consecutive rows, reads their
// offsets with
//         one load and their entries with another one, and gathers whole rows of B, kVectors vectors of 16
//         bytes a lane. C and A are passed once where strips would pass A once each. A block's rows are
//         consecutive, so that they share rows of B in L1. Rows of more than longest_row entries are left to
//         the work list.
#pragma once

#include "kernel.cuh"

// For sweeps, 0: chosen here.
#ifndef SPMM_ROWS
#define SPMM_ROWS 0
#endif
#ifndef SPMM_WARPS
#define SPMM_WARPS 0
#endif

namespace optimized {

template <int kVectors_>
struct RowsTile {
  static constexpr int kWarpLanes = 32;
  static constexpr int kVectors = kVectors_;  // of 4 floats a lane
  static constexpr int kFloats = 4;
  static constexpr int kColumns = kWarpLanes * kFloats;  // that a warp reads with one load a lane
  static constexpr int kPass = kColumns * kVectors;
  static constexpr int kInFlight = kVectors >= 4 ? 2 : 8 / kVectors;  // rows of B a warp gathers at once
  static constexpr int kRows = SPMM_ROWS > 0 ? SPMM_ROWS : kVectors > 1 ? 2 : 4;
  static constexpr int kWarps = SPMM_WARPS > 0 ? SPMM_WARPS : 8;
  static constexpr int kThreads = kWarps * kWarpLanes;
  static constexpr int kRowsPerBlock = kWarps * kRows;
  static_assert(kRows < kWarpLanes, "the lanes of a warp hold the offsets of its rows");
};

// Entries of A that a warp holds, one a lane.
struct EntryChunk {
  int begin = 0;
  Entry entry;
  __device__ void load(const Operands& op, int from, int end) {
    const int at = from + static_cast<int>(threadIdx.x) % 32;
    begin = from;
    entry = fetch_entry(op, static_cast<unsigned>(at), at < end);
  }
};

// Entries [at, at + count) of the chunk times their rows of B; count <= kInFlight is the same in all lanes.
template <typename T>
__device__ void gather_rows(const Operands& op, const EntryChunk& chunk, int at, int count, const char* b,
                            const bool (&inside)[T::kVectors], Vector<4> (&sums)[T::kVectors]) {
  Vector<4> rows_of_b[T::kInFlight][T::kVectors];
#pragma unroll
  for (int u = 0; u < T::kInFlight; ++u) {
    if (u >= count) break;
    const unsigned b_row = __shfl_sync(~0u, chunk.entry.column, at - chunk.begin + u);
    const char* const from = b + static_cast<std::uint64_t>(b_row) * op.row_bytes;
#pragma unroll
    for (int v = 0; v < T::kVectors; ++v) {
      rows_of_b[u][v] = Vector<4>::load(inside[v] ? from + v * T::kColumns * sizeof(float) : from);
    }
  }
#pragma unroll
  for (int u = 0; u < T::kInFlight; ++u) {
    if (u >= count) break;
    const float value = __shfl_sync(~0u, chunk.entry.value, at - chunk.begin + u);
#pragma unroll
    for (int v = 0; v < T::kVectors; ++v) sums[v].add_scaled(value, rows_of_b[u][v]);
  }
}

// Grid: x = blocks of kRowsPerBlock rows; columns op.first_column to op.first_column + kPass.
template <typename T>
__global__ void __launch_bounds__(T::kThreads)
    spmm_whole_rows_kernel(Operands op, const int* __restrict__ row_offsets, int rows, int longest_row) {
  const int lane = threadIdx.x % T::kWarpLanes;
  const std::int64_t first = (std::int64_t{blockIdx.x} * T::kWarps + threadIdx.x / T::kWarpLanes) * T::kRows;
  if (first >= rows) return;
  const int mine = static_cast<int>(min(std::int64_t{T::kRows}, rows - first));
  const int offset = __ldg(row_offsets + first + min(lane, mine));
  const int column = min(op.first_column + lane * T::kFloats, op.k - T::kFloats);
  bool inside[T::kVectors];
#pragma unroll
  for (int v = 0; v < T::kVectors; ++v)
    inside[v] = op.first_column + lane * T::kFloats + v * T::kColumns < op.k;
  const char* const b = reinterpret_cast<const char*>(op.b + column);
  const int last_end = __shfl_sync(~0u, offset, mine);
  EntryChunk chunk;
  chunk.load(op, __shfl_sync(~0u, offset, 0), last_end);
  for (int r = 0; r < mine; ++r) {
    int at = __shfl_sync(~0u, offset, r);
    const int end = __shfl_sync(~0u, offset, r + 1);
    if (end - at > longest_row) continue;
    Vector<4> sums[T::kVectors];
#pragma unroll
    for (int v = 0; v < T::kVectors; ++v) sums[v] = Vector<4>::zero();
    while (at < end) {
      if (at >= chunk.begin + T::kWarpLanes) chunk.load(op, at, last_end);
      const int count = min(min(end, chunk.begin + T::kWarpLanes) - at, T::kInFlight);
      gather_rows<T>(op, chunk, at, count, b, inside, sums);
      at += count;
    }
    float* const to = op.c + (first + r) * op.k + column;
#pragma unroll
    for (int v = 0; v < T::kVectors; ++v) {
      if (inside[v]) sums[v].store(to + v * T::kColumns);
    }
  }
}

}  // namespace optimized
