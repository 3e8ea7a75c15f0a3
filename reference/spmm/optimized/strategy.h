// How the optimized SpMM cuts a problem: host arithmetic on sizes alone, no look at the entries. The numbers
// were chosen from grids measured on an H200; ../README.md has them.
//
// strip    columns of C that one pass over A computes. The gathers touch B's strip, n * strip floats: one
//          that fits in L2 is gathered at L2's speed instead of DRAM's. A is read once a strip.
// panel    columns of A, i.e. rows of B's strip, that one launch covers; C is accumulated panel by panel at
//          8 * m * strip bytes each. Panels make B's strip fit in L2, and let L1 keep what many long rows
//          share.
// segment  entries that one warp takes at most; longer rows are cut, their parts summed in a fixed order.
#pragma once

#include <algorithm>
#include <cstdint>

namespace optimized {

struct Strategy {
  int vector = 4;         // floats a lane loads at once: 4, or 1 where k is no multiple of 4
  int lanes = 8;          // lanes that share one row of B
  int panels = 1;         // launches over consecutive column ranges of A
  int panel_columns = 0;  // columns of A a panel
  int short_row =
      32;  // rows of at most so many entries (in a panel) go to one group of lanes, others to a warp
  int segment = 512;  // entries a warp takes at most

  int strip() const { return vector * lanes; }
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

// The widest strip of B that fills at most three quarters of L2, from 32 columns on. Where not even 32
// columns fit and rows are short, 64: what counts there is how often A and the items are read.
inline int choose_lanes(const Sizes& size, int vector, std::int64_t l2_bytes) {
  constexpr std::int64_t kShortMean = 12;
  if (vector == 1) return size.k <= 8 ? 8 : 32;
  if (size.k <= 16) return 4;
  int lanes = 8;
  while (lanes < 32 && vector * lanes < size.k && size.b_bytes(2 * vector * lanes) <= l2_bytes * 3 / 4)
    lanes *= 2;
  const bool overflows = size.b_bytes(vector * lanes) > l2_bytes;
  return overflows && size.mean_row() < kShortMean && vector * lanes < size.k ? 16 : lanes;
}

// Panels of a third of L2, as long as a row keeps ten entries in each; for matrices large enough to fill the
// GPU many times over, also so many that a row keeps 32 in each.
inline int choose_panels(const Sizes& size, std::int64_t strip, std::int64_t l2_bytes) {
  constexpr std::int64_t kMostPanels = 64, kFewestEntries = 4'000'000;
  const std::int64_t for_l2 =
      std::min(3 * size.b_bytes(std::min(strip, size.k)) / l2_bytes, size.mean_row() / 10);
  const std::int64_t for_l1 = std::min(size.mean_row() / 32, size.nnz / kFewestEntries);
  return static_cast<int>(std::clamp<std::int64_t>(std::max(for_l2, for_l1), 1, kMostPanels));
}

// Enough segments that the last wave of warps is a small part of the whole. Where most rows are long, fewer:
// each cut costs a partial sum written and read.
inline int choose_segment(const Sizes& size, std::int64_t strips, int multiprocessors) {
  constexpr std::int64_t kLongMean = 128, kWarps = 32;
  const std::int64_t wanted = (size.mean_row() >= kLongMean ? 2 : 8) * kWarps * multiprocessors;
  int segment = 64;
  while (segment < 1024 && size.nnz * strips / segment > wanted) segment *= 2;
  return segment;
}

inline Strategy choose_strategy(const Sizes& size, const Device& device) {
  constexpr std::int64_t kUnknownL2 = std::int64_t{40} << 20, kManyEntries = 16'000'000;
  const std::int64_t l2_bytes = device.l2_bytes > 0 ? device.l2_bytes : kUnknownL2;
  Strategy s;
  s.vector = size.k % 4 == 0 ? 4 : 1;
  s.lanes = choose_lanes(size, s.vector, l2_bytes);
  s.panels = choose_panels(size, s.strip(), l2_bytes);
  s.panel_columns = static_cast<int>((size.cols + s.panels - 1) / s.panels);
  const std::int64_t strips = (size.k - 1) / s.strip() + 1;
  s.segment = choose_segment(size, strips, device.multiprocessors);
  s.short_row =
      size.nnz * strips >= kManyEntries ? 64 : 32;  // small problems need the parallelism of whole warps
  return s;
}

}  // namespace optimized
