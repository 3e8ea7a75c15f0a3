// The kernel for k = 1 where rows are short but uneven: a warp reads a stretch of whole rows as one stream of
// entries, 16 bytes a lane, so that every line of A is read once and in one piece, however rows are cut.
//
// Sums    each lane adds up the rows that begin and end in its four entries; what reaches over lanes is added
//         by a segmented scan (Blelloch 1990, "Prefix sums and their applications"), what reaches over rounds
//         is carried. The order is fixed.
// Cost    8 * nnz + nnz / 8 + 4 * rows bytes, and the floats of B. The plan (stream_plan.cuh) keeps a bit an
//         entry, 16 bytes a part and, where rows are empty, 4 bytes a row.
#pragma once

#include "one_column.cuh"

namespace optimized {

struct StreamTile {
  static constexpr int kWarpLanes = 32, kEach = 4;  // entries a lane
  static constexpr int kRound = kWarpLanes * kEach;
  static constexpr int kWarps = 4, kThreads = kWarps * kWarpLanes;
  static constexpr int kBlocksPerSm = 12;  // 48 warps: at most 40 registers a thread
  static constexpr int kEmptyPerBlock = 8 * kThreads;
};

// A warp's entries, and which of the rows that have entries begins them.
struct alignas(16) StreamPart {
  int begin, end;
  int first_row;
  int unused;
};

struct StreamView {
  const unsigned* row_starts = nullptr;  // a bit an entry: a row begins there
  const StreamPart* parts = nullptr;
  const int* filled_rows = nullptr;  // nullptr: every row has entries
  const int* empty_rows = nullptr;
  int part_count = 0, empty_count = 0;
};

struct FourEntries {
  unsigned starts;  // a bit each: a row begins there
  unsigned exist;   // a bit each
  int columns[StreamTile::kEach];
  float values[StreamTile::kEach];
};

__device__ inline FourEntries load_four(const Operands& op, const StreamView& view, const StreamPart& part,
                                        unsigned nnz, unsigned at) {
  constexpr unsigned kEach = StreamTile::kEach;
  const unsigned begin = part.begin, end = part.end;
  FourEntries four{};
  if (at >= end || at + kEach <= begin) return four;
  const unsigned skipped = begin > at ? begin - at : 0, wanted = min(end - at, kEach);
  four.exist = ((1u << wanted) - 1) & ~((1u << skipped) - 1);
  four.starts = __ldg(view.row_starts + at / 32) >> at % 32 & four.exist;
  if (at + kEach <= nnz) {
    const int4 columns = __ldg(reinterpret_cast<const int4*>(op.columns + at));
    const float4 values = __ldg(reinterpret_cast<const float4*>(op.values + at));
    four.columns[0] = columns.x, four.columns[1] = columns.y;
    four.columns[2] = columns.z, four.columns[3] = columns.w;
    four.values[0] = values.x, four.values[1] = values.y;
    four.values[2] = values.z, four.values[3] = values.w;
  } else {
#pragma unroll
    for (unsigned i = 0; i < kEach; ++i) {
      if (at + i < nnz) four.columns[i] = op.columns[at + i], four.values[i] = op.values[at + i];
    }
  }
  return four;
}

__device__ inline void store_row(const Operands& op, const StreamView& view, int filled, float sum) {
  const int row = view.filled_rows == nullptr ? filled : __ldg(view.filled_rows + filled);
  __stcs(op.c + row, sum);
}

// Adds a round's products to the rows; `row` is the filled row under way, `carry` its sum so far.
__device__ inline void add_round(const Operands& op, const StreamView& view, const StreamPart& part,
                                 const FourEntries& four, const float (&products)[StreamTile::kEach],
                                 int& row, float& carry) {
  const unsigned lane = threadIdx.x % StreamTile::kWarpLanes, before = (1u << lane) - 1;
  const int count = __popc(four.starts);
  const unsigned ones = __ballot_sync(~0u, count & 1), twos = __ballot_sync(~0u, count & 2),
                 fours = __ballot_sync(~0u, count & 4);
  const auto rows_in = [&](unsigned lanes) {
    return __popc(ones & lanes) + 2 * __popc(twos & lanes) + 4 * __popc(fours & lanes);
  };
  const int own_row = row + rows_in(before);  // under way where the lane begins
  float head = 0.0f, sum = 0.0f;
  int seen = 0;
#pragma unroll
  for (int i = 0; i < StreamTile::kEach; ++i) {
    if (four.starts >> i & 1) {
      if (seen == 0)
        head = sum;
      else
        store_row(op, view, own_row + seen, sum);
      ++seen;
      sum = 0.0f;
    }
    sum += products[i];
  }
  // What lanes before have of the row that this lane begins in: a scan that no row's begin lets pass.
  const unsigned beginning = ones | twos | fours;
  const unsigned up_to_here = beginning & (before | 1u << lane);
  const int from = up_to_here == 0 ? 0 : 31 - __clz(static_cast<int>(up_to_here));
  float scanned = sum;
#pragma unroll
  for (int distance = 1; distance < StreamTile::kWarpLanes; distance *= 2) {
    const float other = __shfl_up_sync(~0u, scanned, distance);
    if (static_cast<int>(lane) - distance >= from) scanned += other;
  }
  float carried = __shfl_up_sync(~0u, scanned, 1);
  if (lane == 0) carried = 0.0f;
  if ((beginning & before) == 0) carried += carry;
  if (seen > 0 && own_row >= part.first_row) store_row(op, view, own_row, carried + head);
  const float last = __shfl_sync(~0u, scanned, StreamTile::kWarpLanes - 1);
  carry = beginning == 0 ? carry + last : last;
  row += rows_in(~0u);
}

// A round's entries of A are on their way while the floats of B of the round before arrive.
__device__ inline void stream_part(const Operands& op, const StreamView& view, const StreamPart& part,
                                   unsigned nnz) {
  using T = StreamTile;
  const unsigned lane = threadIdx.x % T::kWarpLanes, end = part.end;
  const unsigned first = part.begin / T::kWarpLanes * T::kWarpLanes;  // where a line of A begins
  int row = part.first_row - 1;
  float carry = 0.0f;
  FourEntries next = load_four(op, view, part, nnz, first + lane * T::kEach);
  for (unsigned from = first; from < end; from += T::kRound) {
    const FourEntries four = next;
    float products[T::kEach];
#pragma unroll
    for (int i = 0; i < T::kEach; ++i)
      products[i] = four.exist >> i & 1 ? __ldg(op.b + four.columns[i]) : 0.0f;
    next = load_four(op, view, part, nnz, from + T::kRound + lane * T::kEach);
#pragma unroll
    for (int i = 0; i < T::kEach; ++i) {
      if (four.exist >> i & 1) products[i] *= four.values[i];
    }
    add_round(op, view, part, four, products, row, carry);
  }
  if (lane == 0 && part.begin < part.end) store_row(op, view, row, carry);
}

// Grid: x = blocks of long items, then of parts, then of empty rows.
__global__ void __launch_bounds__(StreamTile::kThreads, StreamTile::kBlocksPerSm)
    spmm_entry_stream_kernel(Operands op, const Item* __restrict__ long_items, int long_count,
                             StreamView view, int nnz, Partials partials) {
  using T = StreamTile;
  const int warp = threadIdx.x / T::kWarpLanes;
  const int long_blocks = (long_count + T::kWarps - 1) / T::kWarps;
  const int part_blocks = (view.part_count + T::kWarps - 1) / T::kWarps;
  const int block = static_cast<int>(blockIdx.x);
  if (block < long_blocks) {
    const int index = block * T::kWarps + warp;
    if (index < long_count) long_row<OneColumn<T::kWarpLanes>>(op, partials, long_items[index]);
  } else if (block < long_blocks + part_blocks) {
    const int index = (block - long_blocks) * T::kWarps + warp;
    if (index < view.part_count) stream_part(op, view, view.parts[index], nnz);
  } else {
    const int first = (block - long_blocks - part_blocks) * T::kEmptyPerBlock;
    const int last = min(first + T::kEmptyPerBlock, view.empty_count);
    for (int i = first + static_cast<int>(threadIdx.x); i < last; i += T::kThreads)
      __stcs(op.c + __ldg(view.empty_rows + i), 0.0f);
  }
}

}  // namespace optimized
