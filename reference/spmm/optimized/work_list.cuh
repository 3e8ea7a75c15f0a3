// The plan of the optimized SpMM: A cut into items of bounded size, on the GPU, without a look at values.
//
// An item is a stretch of one row's entries within one column panel. Short items (at most
// Strategy::short_row entries) are ordered by falling length within windows of kWindowRows rows, so that the
// items that share a warp end together while rows stay near their neighbours. Long items are at most
// Strategy::segment entries within one column band; a row with several is "split": each part owns a slot for
// its partial sum. Long items are ordered by band.
//
// Cost    two passes over row_offsets a panel, in panels and bands with a binary search a row; 16 bytes an
//         item. The host adds up one counter record per 1024 rows, band and panel.
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

// Counts within one window of rows, one band and one panel; short items, slots and splits are counted in a
// panel's first band. After the host's scan, where the window's records begin.
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

// Where the bands of a stretch end. Bands of columns, so that bands of rows whose columns are not sorted are
// consecutive stretches as well.
template <int kBands>
struct Bands {
  int end[kBands];
};

template <int kBands>
__device__ Bands<kBands> bands_of(const CsrMatrix& a, const Stretch& stretch, int panel, const Strategy& s) {
  Bands<kBands> bands;
  int begin = stretch.begin;
#pragma unroll
  for (int band = 0; band < kBands; ++band) {
    const std::int64_t next = static_cast<std::int64_t>(panel) * s.panel_columns +
                              static_cast<std::int64_t>(band + 1) * s.band_columns;
    begin = band + 1 < s.bands ? find_column(a.columns, begin, stretch.end, next) : stretch.end;
    bands.end[band] = begin;
  }
  return bands;
}

__device__ inline int parts_of(int length, const Strategy& s) {
  return (length + s.segment - 1) / s.segment;
}

// Adds what a stretch becomes to the counts [bands]. Empty rows are items of the first panel: it is the one
// that writes C.
template <int kBands>
__device__ void count_items(const CsrMatrix& a, const Stretch& stretch, int panel, const Strategy& s,
                            WindowCounts* counts) {
  if (stretch.length() <= s.short_row) {
    if (s.lists_short_rows && (stretch.length() > 0 || panel == 0)) atomicAdd(&counts[0].short_items, 1);
    return;
  }
  const Bands<kBands> bands = bands_of<kBands>(a, stretch, panel, s);
  int begin = stretch.begin, parts = 0;
#pragma unroll
  for (int band = 0; band < kBands; ++band) {
    const int mine = parts_of(bands.end[band] - begin, s);
    begin = bands.end[band];
    if (mine > 0) atomicAdd(&counts[band].long_items, mine);
    parts += mine;
  }
  if (parts == 1) return;
  atomicAdd(&counts[0].slots, parts);
  atomicAdd(&counts[0].splits, 1);
}

// The record of a window among the counts [panels, bands, windows].
__device__ inline std::size_t record_of(int band, const Strategy& s) {
  return (blockIdx.y * static_cast<std::size_t>(s.bands) + band) * gridDim.x + blockIdx.x;
}

// Grid: x = windows, y = panels. kBands: the most there may be, s.bands how many there are.
template <int kBands>
__global__ void spmm_count_items_kernel(CsrMatrix a, Strategy s, WindowCounts* counts) {
  __shared__ WindowCounts total[kBands];
  if (threadIdx.x < kBands) total[threadIdx.x] = {0, 0, 0, 0};
  __syncthreads();
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) * ListTile::kWindowRows;
  for (int i = threadIdx.x; i < ListTile::kWindowRows && first_row + i < a.rows; i += ListTile::kThreads) {
    const int row = static_cast<int>(first_row + i);
    count_items<kBands>(a, stretch_of(a, row, blockIdx.y, s), blockIdx.y, s, total);
  }
  __syncthreads();
  const int band = threadIdx.x;
  if (band < s.bands) counts[record_of(band, s)] = total[band];
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

template <int kBands>
__device__ void emit_long(const CsrMatrix& a, const Stretch& stretch, int row, int panel, const Strategy& s,
                          WindowCounts* cursors, const ListOutput& out) {
  const Bands<kBands> bands = bands_of<kBands>(a, stretch, panel, s);
  int begin = stretch.begin, parts = 0;
#pragma unroll
  for (int band = 0; band < kBands; ++band) {
    parts += parts_of(bands.end[band] - begin, s);
    begin = bands.end[band];
  }
  int slot = -1;
  if (parts > 1) {
    const int split = atomicAdd(&cursors[0].splits, 1);
    slot = atomicAdd(&cursors[0].slots, parts);
    out.splits[split] = {slot, parts};
    for (int part = 0; part < parts; ++part) out.slot_splits[slot + part] = split;
  }
  begin = stretch.begin;
#pragma unroll
  for (int band = 0; band < kBands; ++band) {
    const int end = bands.end[band], mine = parts_of(end - begin, s);
    if (mine > 0) {
      const int item = atomicAdd(&cursors[band].long_items, mine), share = part_length(end - begin, mine);
      for (int part = 0; part < mine; ++part, begin += share) {
        out.long_items[item + part] = {row, begin, end - begin > share ? begin + share : end,
                                       slot < 0 ? -1 : slot++};
      }
    }
    begin = end;
  }
}

// Grid: x = windows, y = panels. Places come from counters in shared memory, so the order of equals varies
// from plan to plan; sums do not, because every row is summed in the order of its entries and parts.
template <int kBands>
__global__ void spmm_emit_items_kernel(CsrMatrix a, Strategy s,
                                       const WindowCounts* __restrict__ starts,  // [panels, bands, windows]
                                       ListOutput out) {
  __shared__ int class_cursor[ListTile::kClasses];
  __shared__ WindowCounts cursors[kBands];
  for (int c = threadIdx.x; c < ListTile::kClasses; c += ListTile::kThreads) class_cursor[c] = 0;
  if (static_cast<int>(threadIdx.x) < s.bands) cursors[threadIdx.x] = starts[record_of(threadIdx.x, s)];
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
    const int length = stretches[i].length();
    is_short[i] = s.lists_short_rows && length <= s.short_row && (length > 0 || blockIdx.y == 0);
    if (is_short[i]) atomicAdd(&class_cursor[length_class(length)], 1);
    if (length > s.short_row)
      emit_long<kBands>(a, stretches[i], static_cast<int>(row), blockIdx.y, s, cursors, out);
  }
  __syncthreads();
  if (threadIdx.x == 0) {  // counts to places, the longest class first
    int place = cursors[0].short_items;
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
