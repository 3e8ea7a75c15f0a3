// How A is cut: into panels and bands of columns, into segments of long rows, and what takes the short ones.
#pragma once

#include "sizes.h"

namespace optimized {

// Panels of a third of L2, as long as a row keeps ten entries in each; for matrices large enough to fill the
// GPU many times over, also so many that a row keeps 32 in each.
inline int choose_panels(const Sizes& size, std::int64_t strip, std::int64_t l2_bytes) {
  constexpr std::int64_t kMostPanels = 64, kFewestEntries = 4'000'000;
  if (size.k == 1 || choose_whole_rows(size)) return 1;  // their kernels know all of a row
  if (SPMM_PANELS > 0) return std::min<int>(SPMM_PANELS, kMostPanels);
  const std::int64_t for_l2 = std::min(3 * size.b_bytes(strip) / l2_bytes, size.mean_row() / 10);
  const std::int64_t for_l1 = std::min(size.mean_row() / 32, size.nnz / kFewestEntries);
  return static_cast<int>(std::clamp<std::int64_t>(std::max(for_l2, for_l1), 1, kMostPanels));
}

// Bands of B's strip that fit in L1, as long as what a row has in each outweighs a partial sum. Of strips:
// where there are several, and the partial sums of one stay in L2.
inline int choose_bands(const Sizes& size, const Strategy& s, std::int64_t l2_bytes) {
  constexpr std::int64_t kL1Bytes = 160 << 10, kFewestEntries = 48, kFewestOfOneColumn = 128;
  if (SPMM_BANDS > 0) return SPMM_BANDS;
  const bool one_column = size.k == 1;
  if (s.panels > 1 || (!one_column && s.strips < 2)) return 1;
  const std::int64_t strip = one_column ? 1 : s.group.strip();
  const std::int64_t wanted = (size.b_bytes(strip) + kL1Bytes - 1) / kL1Bytes;
  const std::int64_t most = size.mean_row() / (one_column ? kFewestOfOneColumn : kFewestEntries);
  const std::int64_t bands = std::min<std::int64_t>({wanted, most, kMostBands});
  const std::int64_t sums_bytes = size.rows * bands * strip * static_cast<std::int64_t>(sizeof(float));
  return 3 * bands >= 2 * wanted && 2 * sums_bytes <= l2_bytes
             ? static_cast<int>(std::max<std::int64_t>(bands, 1))
             : 1;
}

// Enough segments that the last wave of warps is a small part of the whole. Where most rows are long, one
// wave of them, where they are of middle length, two: each cut costs a partial sum written and read. The
// shortest segments only where longer ones would leave the GPU half empty.
inline int choose_segment(const Sizes& size, std::int64_t strips, int multiprocessors) {
  constexpr std::int64_t kLongMean = 128, kMiddleMean = 32, kManyWarps = 8 * 32;
  if (SPMM_SEGMENT > 0) return SPMM_SEGMENT;
  const std::int64_t wave = kWarpsAnSm * multiprocessors;
  int segment = size.k == 1 ? 256 : 64;  // of one column, a warp has 128 entries under way
  if (size.k == 1) {
    while (segment < 2048 && size.nnz / segment > wave) segment *= 2;
    return segment;
  }
  const bool is_long = size.mean_row() >= kLongMean, is_middle = !is_long && size.mean_row() >= kMiddleMean;
  const std::int64_t wanted = is_long ? wave : is_middle ? 2 * wave : kManyWarps * multiprocessors;
  const std::int64_t of_middle = std::clamp<std::int64_t>(strips / 2, 1, 2);
  const std::int64_t passes = is_long ? 1 : is_middle ? of_middle : strips;
  if (2 * size.nnz / segment > 3 * wave) segment *= 2;
  while (segment < 1024 && size.nnz * passes / segment > wanted) segment *= 2;
  return segment;
}

// Rows up to this length go to a group of lanes each, longer ones to a warp. Groups take longer rows where
// there is much work, or where rows are of that length and enough for a wave and a half of groups.
inline int choose_short_row(const Sizes& size, const Strategy& s, int multiprocessors) {
  constexpr std::int64_t kManyEntries = 16'000'000, kMiddleMean = 36;
  if (SPMM_SHORT_ROW > 0) return SPMM_SHORT_ROW;
  const std::int64_t strips = s.all_strips(), groups = 32 / (s.strips > 0 ? s.group : s.last).lanes;
  const bool is_large = size.nnz * strips >= kManyEntries;
  const bool fills =
      size.mean_row() >= kMiddleMean && 2 * size.rows * strips >= 3 * kWarpsAnSm * multiprocessors * groups;
  return is_large || fills ? 2 * kShortRow : kShortRow;
}

// Of one column: lanes that take a short row, how long it may be, and whether the others are so long that a
// warp has twice as much of one under way.
struct Lanes {
  int lanes, short_row;
  bool many_rounds;
};
inline Lanes choose_lanes(const Sizes& size) {
  const std::int64_t mean = size.mean_row();
  Lanes chosen{8, kShortRow, false};
  if (size.is_even() && mean < 4) {
    chosen.lanes = 2;
  } else if (size.is_even() && mean < 9) {
    chosen.lanes = 4;
  } else if (mean >= 24 && mean < 64) {
    chosen = {16, 64, false};
  } else if (mean >= 64 && mean < 128) {
    chosen = {32, 128, false};
  } else if (mean >= 256) {
    chosen.many_rounds = true;
  }
  if (SPMM_LANES > 0) chosen.lanes = SPMM_LANES;
  if (SPMM_SHORT_ROW > 0) chosen.short_row = SPMM_SHORT_ROW;
  return chosen;
}

// Of one column: entries that a warp takes where rows are read as a stream of entries, 0 where lanes take
// rows. The stream costs the same however rows are cut. Lanes are quicker on rows of one length, on rows as
// long as a warp, and where so little is to do that only latency counts.
inline int choose_stream_window(const Sizes& size) {
  constexpr std::int64_t kLongMean = 256, kEnough = 1'000'000, kMuch = 16'000'000, kVeryMuch = 64'000'000;
  constexpr int kWindow = 256, kWideWindow = 512;
  if (size.k != 1 || size.nnz == 0 || !size.whole_vectors || SPMM_STREAM == 2) return 0;
  const std::int64_t mean = size.mean_row();
  const bool is_uneven = !size.is_even() && size.nnz >= kEnough;
  const bool is_scattered = size.nnz >= kMuch && size.locality < kLocal;
  const bool streams = mean < kMeanOfLocalRows ? is_uneven : mean < kLongMean && is_scattered;
  if (!streams && SPMM_STREAM != 1) return 0;
  return size.nnz >= kVeryMuch ? kWideWindow : kWindow;
}

// Rows that a warp walks one after the other: a few, so that it waits for offsets and entries once for all of
// them. Fewer of long ones, which end at different times.
inline int choose_rows_a_warp(const Sizes& size) {
  constexpr std::int64_t kTwoPasses = 2 * kOnePass, kLongMean = 16, kMiddleMean = 7, kShortestMean = 4;
  if (SPMM_ROWS > 0) return SPMM_ROWS;
  const std::int64_t mean = size.mean_row();
  if (size.k <= kOnePass) return mean < kShortestMean ? 8 : 4;
  if (mean >= kLongMean) return 1;
  return size.k <= kTwoPasses && size.is_even() && mean >= kMiddleMean ? 2 : 4;
}

}  // namespace optimized
