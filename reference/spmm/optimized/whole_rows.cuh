// The kernel for short rows whose columns are near the diagonal (meshes, roads, web and call graphs) and wide
// B: a warp walks all of k at once.
//
// Shapes  A [m, n] CSR, B [n, b_pitch], C [m, k] row-major, fp32; k a multiple of 4.
// Cost    8 * nnz + 4 * m + 4 * (n + m) * k bytes, where neighbouring rows find each other's rows of B in
//         L1 and L2.
// Idea    A warp takes a few consecutive rows, reads their offsets with one load and their entries with
//         another one, and gathers whole rows of B, kVectors vectors of 16 bytes a lane. A and C are passed
//         once, where strips would pass A once each. A block's rows are consecutive, so that they share rows
//         of B in L1. Rows of more than longest_row entries are cut into items of the work list; the same
//         launch begins with those, a warp each, so that their warps work while others walk rows.
#pragma once

#include "kernel.cuh"

namespace optimized {

// kFull: every lane's columns exist, so that no load or store asks for the edge.
template <int kVectors_, bool kFull_>
struct RowsTile {
  static constexpr int kWarpLanes = 32;
  static constexpr int kVectors = kVectors_;  // of 4 floats a lane
  static constexpr bool kFull = kFull_;
  static constexpr int kFloats = 4;
  static constexpr int kColumns = kWarpLanes * kFloats;  // that a warp reads with one load a lane
  static constexpr int kPass = kColumns * kVectors;
  static constexpr int kWarps = 4;
  static constexpr int kThreads = kWarps * kWarpLanes;
  // Rows of B that a warp gathers at once, and blocks on a multiprocessor: what the registers are shared
  // among. More of one leaves too few of the other.
  static constexpr int kInFlight = kVectors == 1 ? 4 : 3;
  static constexpr int kBlocksPerSm = kVectors == 1 ? 10 : kVectors == 2 ? 8 : 5;
};

// What a lane holds of a pass: kVectors vectors of one row of B or C.
template <typename T>
struct RowPiece {
  Vector<4> part[T::kVectors];
};

// A warp's way along rows of C: the sums of the row that it is at.
template <typename T>
struct RowsWalk {
  const Operands& op;
  int column;     // of B and C, the first of kFloats of the first vector
  const char* b;  // B[0, column]
  float* c;       // C[row, column]
  RowPiece<T> sum;

  __device__ RowsWalk(const Operands& operands, std::int64_t first_row)
      : op(operands), column(op.first_column + static_cast<int>(threadIdx.x) % T::kWarpLanes * T::kFloats) {
    b = reinterpret_cast<const char*>(op.b + (inside(0) ? column : op.first_column));
    c = op.c + first_row * op.k + column;
    clear();
  }
  __device__ bool inside(int v) const { return T::kFull || column + v * T::kColumns < op.k; }
  __device__ void clear() {
#pragma unroll
    for (int v = 0; v < T::kVectors; ++v) sum.part[v] = Vector<4>::zero();
  }
  __device__ void end_row() {
#pragma unroll
    for (int v = 0; v < T::kVectors; ++v) {
      if (inside(v)) sum.part[v].store(c + v * T::kColumns);
    }
    skip_row();
    clear();
  }
  __device__ void skip_row() {
    c += op.k;
  }
  // Past the edge a lane loads what it loads anyway, or what others load.
  __device__ RowPiece<T> load(unsigned b_row) const {
    const char* const from = b + static_cast<std::uint64_t>(b_row) * op.row_bytes;
    RowPiece<T> piece;
#pragma unroll
    for (int v = 0; v < T::kVectors; ++v) {
      piece.part[v] = Vector<4>::load(inside(v) ? from + v * T::kColumns * sizeof(float) : from);
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

// Adds the entries [at, end) of one row. The warp's entries end at last_end.
template <typename T>
__device__ void walk_entries(int at, int end, int last_end, EntryChunk* chunk, RowsWalk<T>* walk) {
  while (at < end) {
    if (at >= chunk->begin + T::kWarpLanes) chunk->load(walk->op, at, last_end);
    const int count = min(min(end, chunk->begin + T::kWarpLanes) - at, T::kInFlight);
    gather_rows(walk, *chunk, at, count);
    at += count;
  }
}

// Publishes a part's sums. The warp that publishes a row's last part gets true and the row's sums, added up
// in the order of the row.
template <typename T>
__device__ bool combine_walks(const Partials& partials, int slot, RowsWalk<T>* walk) {
  const Operands& op = walk->op;
  const int split = partials.slot_splits[slot];
  const Split row = partials.splits[split];
  const auto part_at = [&](int part, int v) {
    return partials.sums + static_cast<std::int64_t>(part) * op.sums_pitch + walk->column + v * T::kColumns;
  };
#pragma unroll
  for (int v = 0; v < T::kVectors; ++v) {
    if (walk->inside(v)) walk->sum.part[v].store(part_at(slot, v));
  }
  if (!arrives_last(partials, split, op.first_strip, row.parts)) return false;
  walk->clear();
#pragma unroll 4
  for (int part = row.first_slot; part < row.first_slot + row.parts; ++part) {
#pragma unroll
    for (int v = 0; v < T::kVectors; ++v) {
      if (walk->inside(v)) walk->sum.part[v].add_scaled(1.0f, Vector<4>::load_uncached(part_at(part, v)));
    }
  }
  return true;
}

// One warp, one long item.
template <typename T>
__device__ void walk_long_item(const Operands& op, const Partials& partials, const Item& item) {
  RowsWalk<T> walk(op, item.row);
  EntryChunk chunk;
  chunk.load(op, item.begin, item.end);
  walk_entries(item.begin, item.end, item.end, &chunk, &walk);
  if (item.slot < 0 || combine_walks(partials, item.slot, &walk)) walk.end_row();
}

// One warp, `count` rows from `first` on: at most 31, since its lanes hold their offsets.
template <typename T>
__device__ void walk_rows(const Operands& op, const int* __restrict__ row_offsets, std::int64_t first,
                          int count, int longest_row) {
  const int lane = threadIdx.x % T::kWarpLanes;
  const int offset = __ldg(row_offsets + first + min(lane, count));
  const int last_end = __shfl_sync(~0u, offset, count);
  RowsWalk<T> walk(op, first);
  EntryChunk chunk;
  chunk.load(op, __shfl_sync(~0u, offset, 0), last_end);
  for (int r = 0; r < count; ++r) {
    const int begin = __shfl_sync(~0u, offset, r), end = __shfl_sync(~0u, offset, r + 1);
    if (end - begin > longest_row) {
      walk.skip_row();
      continue;
    }
    walk_entries(begin, end, last_end, &chunk, &walk);
    walk.end_row();
  }
}

struct RowsOfA {
  const int* offsets;  // [count + 1]
  int count;
  int a_warp;   // rows that a warp walks
  int longest;  // entries; longer rows are in the work list
};

// Grid: x = blocks of long items, then blocks of rows; columns op.first_column to op.first_column + kPass.
template <typename T>
__global__ void __launch_bounds__(T::kThreads, T::kBlocksPerSm)
    spmm_whole_rows_kernel(Operands op, PanelList list, Partials partials, RowsOfA rows) {
  const unsigned warp = threadIdx.x / T::kWarpLanes;
  const unsigned long_blocks = (static_cast<unsigned>(list.long_count) + T::kWarps - 1) / T::kWarps;
  if (blockIdx.x < long_blocks) {
    const unsigned index = blockIdx.x * T::kWarps + warp;
    if (index < static_cast<unsigned>(list.long_count)) {
      walk_long_item<T>(op, partials, list.long_items[index]);
    }
    return;
  }
  const std::int64_t first = (std::int64_t{blockIdx.x - long_blocks} * T::kWarps + warp) * rows.a_warp;
  if (first >= rows.count) return;
  const int count = static_cast<int>(min(std::int64_t{rows.a_warp}, rows.count - first));
  walk_rows<T>(op, rows.offsets, first, count, rows.longest);
}

}  // namespace optimized
