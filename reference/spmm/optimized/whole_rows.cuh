// The kernel for short rows whose columns are near the diagonal (meshes, roads) and wide B: a warp walks all
// of k at once.
//
// Shapes  A [m, n] CSR, B [n, b_pitch], C [m, k] row-major, fp32; k a multiple of 4.
// Cost    8 * nnz + 4 * m + 4 * (n + m) * k bytes, where neighbouring rows find each other's rows of B in
//         L1 and L2.
// Idea    No items are read and nothing is combined: a warp takes kRows consecutive rows, reads their
//         offsets with one load and their entries with another one, and gathers whole rows of B, kVectors
//         vectors of 16 bytes a lane. A and C are passed once, where strips would pass A once each. A
//         block's rows are consecutive, so that they share rows of B in L1. Rows of more than longest_row
//         entries are left to the work list.
#pragma once

#include "kernel.cuh"

namespace optimized {

template <int kVectors_, int kRows_>
struct RowsTile {
  static constexpr int kWarpLanes = 32;
  static constexpr int kVectors = kVectors_;  // of 4 floats a lane
  static constexpr int kFloats = 4;
  static constexpr int kColumns = kWarpLanes * kFloats;  // that a warp reads with one load a lane
  static constexpr int kPass = kColumns * kVectors;
  static constexpr int kInFlight = kVectors >= 4 ? 2 : 8 / kVectors;  // rows of B a warp gathers at once
  static constexpr int kRows = kRows_;
  static constexpr int kWarps = 4;
  static constexpr int kThreads = kWarps * kWarpLanes;
  static constexpr int kRowsPerBlock = kWarps * kRows;
  static_assert(kRows < kWarpLanes, "the lanes of a warp hold the offsets of its rows");
  static_assert(kWarpLanes % kInFlight == 0, "batches fill a round of entries");
};

// What a lane holds of a pass: kVectors vectors of one row of B or C.
template <typename T>
struct RowPiece {
  Vector<4> part[T::kVectors];
};

// A warp's consecutive rows, one after the other.
template <typename T>
struct RowsWalk {
  const Operands& op;
  const char* b;  // B[0, column]
  float* c;       // C[row, column]
  bool inside[T::kVectors];
  RowPiece<T> sum;

  __device__ RowsWalk(const Operands& operands, std::int64_t first_row) : op(operands) {
    const int lane_column = op.first_column + static_cast<int>(threadIdx.x) % T::kWarpLanes * T::kFloats;
    const int column = min(lane_column, op.k - T::kFloats);  // past the edge: loads that others make as well
    b = reinterpret_cast<const char*>(op.b + column);
    c = op.c + first_row * op.k + column;
#pragma unroll
    for (int v = 0; v < T::kVectors; ++v) inside[v] = lane_column + v * T::kColumns < op.k;
    clear();
  }
  __device__ void clear() {
#pragma unroll
    for (int v = 0; v < T::kVectors; ++v) sum.part[v] = Vector<4>::zero();
  }
  __device__ void end_row() {
#pragma unroll
    for (int v = 0; v < T::kVectors; ++v) {
      if (inside[v]) sum.part[v].store(c + v * T::kColumns);
    }
    skip_row();
    clear();
  }
  __device__ void skip_row() {
    c += op.k;
  }
  __device__ RowPiece<T> load(unsigned b_row) const {
    const char* const from = b + static_cast<std::uint64_t>(b_row) * op.row_bytes;
    RowPiece<T> piece;
#pragma unroll
    for (int v = 0; v < T::kVectors; ++v) {
      piece.part[v] = Vector<4>::load(inside[v] ? from + v * T::kColumns * sizeof(float) : from);
    }
    return piece;
  }
  __device__ void add_scaled(float value, const RowPiece<T>& piece) {
#pragma unroll
    for (int v = 0; v < T::kVectors; ++v) sum.part[v].add_scaled(value, piece.part[v]);
  }
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

// Adds entries [at, at + count) of the chunk times their rows of B; count <= kInFlight is the same in
// all lanes.
template <typename T>
__device__ void gather_rows(RowsWalk<T>* walk, const EntryChunk& chunk, int at, int count) {
  RowPiece<T> rows_of_b[T::kInFlight];
#pragma unroll
  for (int u = 0; u < T::kInFlight; ++u) {
    if (u >= count) break;
    rows_of_b[u] = walk->load(__shfl_sync(~0u, chunk.entry.column, at - chunk.begin + u));
  }
#pragma unroll
  for (int u = 0; u < T::kInFlight; ++u) {
    if (u >= count) break;
    walk->add_scaled(__shfl_sync(~0u, chunk.entry.value, at - chunk.begin + u), rows_of_b[u]);
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
  const int last_end = __shfl_sync(~0u, offset, mine);
  RowsWalk<T> walk(op, first);
  EntryChunk chunk;
  chunk.load(op, __shfl_sync(~0u, offset, 0), last_end);
  for (int r = 0; r < mine; ++r) {
    int at = __shfl_sync(~0u, offset, r);
    const int end = __shfl_sync(~0u, offset, r + 1);
    if (end - at > longest_row) {
      walk.skip_row();
      continue;
    }
    while (at < end) {
      if (at >= chunk.begin + T::kWarpLanes) chunk.load(op, at, last_end);
      const int count = min(min(end, chunk.begin + T::kWarpLanes) - at, T::kInFlight);
      gather_rows(&walk, chunk, at, count);
      at += count;
    }
    walk.end_row();
  }
}

}  // namespace optimized
