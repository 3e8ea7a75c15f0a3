// How the optimized SpMM cuts a problem: host arithmetic on sizes alone, no look at the entries. The numbers
// were chosen from grids measured on an H200; ../README.md has them.
//
// strip    columns of C that one pass over A computes. The gathers touch B's strip, n * strip floats: one
//          that fits in L2 is gathered at L2's speed instead of DRAM's. A is read once a strip. Strips are of
//          equal width, the last two may overlap: no k leaves a strip of a few columns over.
// panel    columns of A, i.e. rows of B's strip, that one launch covers; C is accumulated panel by panel at
//          8 * m * strip bytes each. Panels make B's strip fit in L2, and let L1 keep what many long rows
//          share.
// segment  entries that one warp takes at most; longer rows are cut, their parts summed in a fixed order.
#pragma once

#include <algorithm>
#include <cstdint>
#ifndef SPMM_LONG_WAVES
#define SPMM_LONG_WAVES 2
#endif

namespace optimized {

struct Strategy {
  int vector = 4;         // floats a lane loads at once: 4, 2 or 1, the largest that divides k
  int lanes = 8;          // lanes that share one row of B
  int repeat = 1;         // loads a lane makes of one row, where scalars would make the strip too narrow
  int width = 32;         // columns of a strip, at most capacity()
  int strips = 1;         // passes over A; width * strips >= k
  int panels = 1;         // launches over consecutive column ranges of A
  int panel_columns = 0;  // columns of A a panel
  int short_row =
      32;  // rows of at most so many entries (in a panel) go to one group of lanes, others to a warp
  int segment = 512;  // entries a warp takes at most

  int capacity() const { return vector * lanes * repeat; }
};

struct Device {
  std::int64_t l2_bytes = 0;
  int multiprocessors = 1;
};

struct Sizes {
  std::int64_t rows, cols, nnz, k;
  std::int64_t mean_row() const { return nnz / std::max<std::int64_t>(rows, 1); }
  std::int64_t b_bytes(std::int64_t columns) const {
    return cols * columns * static_cast<std::int64_t>(sizeof(float));
  }
};

// The strip that the caches ask for: the widest whose part of B fills at most three quarters of L2, from 32
// columns on. Where not even 32 columns fit and rows are short, 64: what counts there is how often A and the
// items are read.
inline int preferred_strip(const Sizes& size, std::int64_t l2_bytes) {
  constexpr std::int64_t kShortMean = 12, kNarrowest = 32, kWidest = 128;
  std::int64_t strip = kNarrowest;
  while (strip < kWidest && strip < size.k && size.b_bytes(2 * strip) <= l2_bytes * 3 / 4) strip *= 2;
  const bool overflows = size.b_bytes(strip) > l2_bytes;
  return static_cast<int>(overflows && size.mean_row() < kShortMean && strip < size.k ? 2 * kNarrowest
                                                                                      : strip);
}

// A group of lanes as it is compiled: what one row of B is read with.
struct Group {
  int vector, lanes, repeat;
  constexpr int capacity() const { return vector * lanes * repeat; }
};
inline constexpr Group kGroups[] = {{4, 4, 1},  {4, 8, 1},  {4, 16, 1}, {4, 32, 1}, {2, 8, 1},
                                    {2, 16, 1}, {2, 32, 1}, {2, 32, 2}, {1, 8, 1},  {1, 16, 1},
                                    {1, 32, 1}, {1, 32, 2}, {1, 32, 4}};

// The narrowest group that covers `width` columns; nullptr: none does.
inline const Group* find_group(int vector, std::int64_t width) {
  const Group* best = nullptr;
  for (const Group& group : kGroups) {
    if (group.vector != vector || group.capacity() < width) continue;
    if (best == nullptr || group.capacity() < best->capacity()) best = &group;
  }
  return best;
}

// Strips of equal width, at most half as wide again as the caches ask for. A strip costs what its lanes cost,
// idle ones too, and one more reading of A, which weighs about as much as eight columns.
inline void choose_strips(const Sizes& size, int preferred, Strategy* s) {
  constexpr std::int64_t kReadingA = 8;
  std::int64_t best_cost = -1;
  const std::int64_t at_most = 2 * ((size.k + preferred - 1) / preferred);
  for (std::int64_t strips = 1; strips <= at_most; ++strips) {
    const std::int64_t columns = (size.k + strips - 1) / strips;
    const std::int64_t width = (columns + s->vector - 1) / s->vector * s->vector;
    const Group* group = find_group(s->vector, width);
    if (group == nullptr || 2 * width > 3 * preferred) continue;
    const std::int64_t cost = strips * (group->capacity() + kReadingA);
    if (best_cost >= 0 && cost >= best_cost) continue;
    best_cost = cost;
    s->lanes = group->lanes;
    s->repeat = group->repeat;
    s->width = static_cast<int>(width);
    s->strips = static_cast<int>((size.k + width - 1) / width);
  }
}

// Panels of a third of L2, as long as a row keeps ten entries in each; for matrices large enough to fill the
// GPU many times over, also so many that a row keeps 32 in each.
inline int choose_panels(const Sizes& size, std::int64_t strip, std::int64_t l2_bytes) {
  constexpr std::int64_t kMostPanels = 64, kFewestEntries = 4'000'000;
  const std::int64_t for_l2 = std::min(3 * size.b_bytes(strip) / l2_bytes, size.mean_row() / 10);
  const std::int64_t for_l1 = std::min(size.mean_row() / 32, size.nnz / kFewestEntries);
  return static_cast<int>(std::clamp<std::int64_t>(std::max(for_l2, for_l1), 1, kMostPanels));
}

// Enough segments that the last wave of warps is a small part of the whole. Where most rows are long, fewer:
// each cut costs a partial sum written and read.
inline int choose_segment(const Sizes& size, std::int64_t strips, int multiprocessors) {
  constexpr std::int64_t kLongMean = 128, kWarps = 32;
  const std::int64_t wanted = (size.mean_row() >= kLongMean ? SPMM_LONG_WAVES : 8) * kWarps * multiprocessors;
  int segment = 64;
  while (segment < 1024 && size.nnz * strips / segment > wanted) segment *= 2;
  return segment;
}

inline Strategy choose_strategy(const Sizes& size, const Device& device) {
  constexpr std::int64_t kUnknownL2 = std::int64_t{40} << 20, kManyEntries = 16'000'000;
  const std::int64_t l2_bytes = device.l2_bytes > 0 ? device.l2_bytes : kUnknownL2;
  Strategy s;
  s.vector = size.k % 4 == 0 ? 4 : size.k % 2 == 0 ? 2 : 1;
  choose_strips(size, preferred_strip(size, l2_bytes), &s);
  s.panels = choose_panels(size, s.width, l2_bytes);
  s.panel_columns = static_cast<int>((size.cols + s.panels - 1) / s.panels);
  s.segment = choose_segment(size, s.strips, device.multiprocessors);
  s.short_row =
      size.nnz * s.strips >= kManyEntries ? 64 : 32;  // small problems need the parallelism of whole warps
  return s;
}

}  // namespace optimized
