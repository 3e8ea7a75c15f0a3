// The plan of the optimized SpMM: A cut into items of bounded size, on the GPU, without a look at values.
//
// An item is a stretch of one row's entries within one column panel. Short items (at most
// Strategy::short_row entries) are ordered by falling length within windows of kWindowRows rows, so that the
// items that share a warp end together while rows stay near their neighbours. Long items are at most
// Strategy::segment entries; a row with several is "split": each part owns a slot for its partial sum.
//
// Cost    two passes over row_offsets a panel, with a binary search in `columns` per row where there are
//         panels; 16 bytes an item. The host adds up one counter record per 1024 rows and panel.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "strategy.h"
#include "warpgrade/csr.h"

namespace optimized {

struct alignas(16) Item {
  int row;
  int begin, end;  // entries of A
  int slot;        // long items of split rows: where the partial sum goes; -1: the item is all of its row
};

struct Split {
  int first_slot;
  int parts;
};

// Counts within one window of rows and one panel; after the host's scan, where the window's records begin.
struct alignas(16) WindowCounts {
  int short_items, long_items, slots, splits;
};

// Device views of one panel's items; slots and splits are numbered across panels.
struct PanelList {
  const Item* short_items = nullptr;
  const Item* long_items = nullptr;
  int short_count = 0;
  int long_count = 0;
};

struct ListTile {
  static constexpr int kWindowRows = 1024;
  static constexpr int kThreads = 256;
  static constexpr int kClassEntries = 4;  // lengths that differ by less count as equal
  static constexpr int kClasses = 64;
  static_assert(kWindowRows % kThreads == 0, "threads share a window's rows evenly");
};

struct Stretch {
  int begin, end;
  __device__ int length() const { return end - begin; }
};

// First position in [begin, end) whose column is at least `column`. On rows whose columns are not sorted the
// result still cuts the row into consecutive stretches: panels then lose locality, not entries.
__device__ inline int find_column(const int* __restrict__ columns, int begin, int end, std::int64_t column) {
  while (begin < end) {
    const int middle = begin + (end - begin) / 2;
    if (columns[middle] < column) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

__device__ inline Stretch stretch_of(const CsrMatrix& a, int row, int panel, const Strategy& s) {
  Stretch stretch{a.row_offsets[row], a.row_offsets[row + 1]};
  const int row_begin = stretch.begin, row_end = stretch.end;
  const std::int64_t first_column = static_cast<std::int64_t>(panel) * s.panel_columns;
  if (panel > 0) stretch.begin = find_column(a.columns, row_begin, row_end, first_column);
  if (panel + 1 < s.panels) {
    stretch.end = find_column(a.columns, row_begin, row_end, first_column + s.panel_columns);
  }
  return stretch;
}

// What a stretch becomes. Empty rows are items of the first panel: it is the one that writes C.
__device__ inline WindowCounts items_of(int length, int panel, const Strategy& s) {
  if (length <= s.short_row) return {length > 0 || panel == 0 ? 1 : 0, 0, 0, 0};
  const int parts = (length - 1) / s.segment + 1;
  return parts == 1 ? WindowCounts{0, 1, 0, 0} : WindowCounts{0, parts, parts, 1};
}

// Grid: x = windows, y = panels.
__global__ void spmm_count_items_kernel(CsrMatrix a, Strategy s, WindowCounts* counts) {  // [panels, windows]
  __shared__ WindowCounts total;
  if (threadIdx.x == 0) total = {0, 0, 0, 0};
  __syncthreads();
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) * ListTile::kWindowRows;
  for (int i = threadIdx.x; i < ListTile::kWindowRows && first_row + i < a.rows; i += ListTile::kThreads) {
    const int row = static_cast<int>(first_row + i);
    const WindowCounts mine = items_of(stretch_of(a, row, blockIdx.y, s).length(), blockIdx.y, s);
    if (mine.short_items > 0) atomicAdd(&total.short_items, mine.short_items);
    if (mine.long_items > 0) atomicAdd(&total.long_items, mine.long_items);
    if (mine.splits > 0) {
      atomicAdd(&total.slots, mine.slots);
      atomicAdd(&total.splits, mine.splits);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) counts[blockIdx.y * static_cast<std::size_t>(gridDim.x) + blockIdx.x] = total;
}

struct ListOutput {
  Item* short_items;
  Item* long_items;
  Split* splits;     // [splits]
  int* slot_splits;  // [slots], the split that a slot belongs to
};

__device__ inline int length_class(int length) {
  return min((length + ListTile::kClassEntries - 1) / ListTile::kClassEntries, ListTile::kClasses - 1);
}

// Equal parts, in whole rounds of a warp: the warps that share a block end together. Since segments are whole
// rounds too, no part is longer than a segment and none is empty.
__device__ inline int part_length(int length, int parts) {
  constexpr int kRound = 32;
  return ((length - 1) / parts / kRound + 1) * kRound;
}

__device__ inline void emit_long(const Stretch& stretch, int row, const WindowCounts& counts,
                                 const Strategy& s, WindowCounts* cursor, const ListOutput& out) {
  int item = atomicAdd(&cursor->long_items, counts.long_items);
  int slot = -1;
  if (counts.splits > 0) {
    const int split = atomicAdd(&cursor->splits, 1);
    slot = atomicAdd(&cursor->slots, counts.slots);
    out.splits[split] = {slot, counts.slots};
    for (int part = 0; part < counts.slots; ++part) out.slot_splits[slot + part] = split;
  }
  const int share = part_length(stretch.length(), counts.long_items);
  for (int part = 0; part < counts.long_items; ++part) {
    const int begin = stretch.begin + part * share;
    const int end = stretch.end - begin > share ? begin + share : stretch.end;
    out.long_items[item + part] = {row, begin, end, counts.splits > 0 ? slot + part : -1};
  }
}

// Grid: x = windows, y = panels. Places come from counters in shared memory, so the order of equals varies
// from plan to plan; sums do not, because every row is summed in the order of its entries and parts.
__global__ void spmm_emit_items_kernel(CsrMatrix a, Strategy s,
                                       const WindowCounts* __restrict__ starts,  // [panels, windows]
                                       ListOutput out) {
  __shared__ int class_cursor[ListTile::kClasses];
  __shared__ WindowCounts cursor;
  for (int c = threadIdx.x; c < ListTile::kClasses; c += ListTile::kThreads) class_cursor[c] = 0;
  if (threadIdx.x == 0) cursor = starts[blockIdx.y * static_cast<std::size_t>(gridDim.x) + blockIdx.x];
  __syncthreads();
  constexpr int kRowsPerThread = ListTile::kWindowRows / ListTile::kThreads;
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) * ListTile::kWindowRows;
  Stretch stretches[kRowsPerThread];
  bool is_short[kRowsPerThread];
#pragma unroll
  for (int i = 0; i < kRowsPerThread; ++i) {
    const std::int64_t row = first_row + i * ListTile::kThreads + threadIdx.x;
    is_short[i] = false;
    if (row >= a.rows) continue;
    stretches[i] = stretch_of(a, static_cast<int>(row), blockIdx.y, s);
    const WindowCounts counts = items_of(stretches[i].length(), blockIdx.y, s);
    is_short[i] = counts.short_items > 0;
    if (is_short[i]) atomicAdd(&class_cursor[length_class(stretches[i].length())], 1);
    if (counts.long_items > 0) emit_long(stretches[i], static_cast<int>(row), counts, s, &cursor, out);
  }
  __syncthreads();
  if (threadIdx.x == 0) {  // counts to places, the longest class first
    int place = cursor.short_items;
    for (int c = ListTile::kClasses - 1; c >= 0; --c) {
      const int count = class_cursor[c];
      class_cursor[c] = place;
      place += count;
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kRowsPerThread; ++i) {
    if (!is_short[i]) continue;
    const int row = static_cast<int>(first_row + i * ListTile::kThreads + threadIdx.x);
    const int place = atomicAdd(&class_cursor[length_class(stretches[i].length())], 1);
    out.short_items[place] = {row, stretches[i].begin, stretches[i].end, -1};
  }
}

}  // namespace optimized
