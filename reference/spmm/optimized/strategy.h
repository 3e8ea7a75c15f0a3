// How the optimized SpMM cuts a problem: host arithmetic on sizes, and on how many of A's columns lie near
// the diagonal. The numbers were chosen from grids measured on an H200; ../README.md has them.
//
// strip    columns of C that one pass over A computes. The gathers touch B's strip, n * strip floats: one
//          that fits in L2 is gathered at L2's speed instead of DRAM's. A is read once a strip. What k leaves
//          over is a narrower strip, run by a narrower group of lanes.
// padding  where k is no multiple of 4, B is copied into rows of whole vectors first; into rows of whole
//          lines, if they are read so often that the lines saved outweigh the copy.
// panel    columns of A, i.e. rows of B's strip, that one launch covers; C is accumulated panel by panel at
//          8 * m * strip bytes each. Panels make B's strip fit in L2, and let L1 keep what many long rows
//          share.
// band     columns of A that the long items of one launch are ordered by: L1 keeps what rows share, for a
//          partial sum a row and band. For work too small for panels.
// segment  entries that one warp takes at most; longer rows are cut, their parts summed in a fixed order.
// whole rows  where rows are short and even and their columns near: no strips, a warp walks all of k
// (whole_rows.cuh).
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

// For sweeps, 0: chosen here.
//   warpgrade sweep reference/spmm/optimized --lab spmm --param SPMM_STRIP=32,64,128 --param SPMM_PANELS=1,3
#ifndef SPMM_STRIP
#define SPMM_STRIP 0
#endif
#ifndef SPMM_PANELS
#define SPMM_PANELS 0
#endif
#ifndef SPMM_BANDS
#define SPMM_BANDS 0
#endif
#ifndef SPMM_SEGMENT
#define SPMM_SEGMENT 0
#endif
#ifndef SPMM_SHORT_ROW
#define SPMM_SHORT_ROW 0
#endif
#ifndef SPMM_WHOLE_ROWS  // 1: where they can be, 2: nowhere
#define SPMM_WHOLE_ROWS 0
#endif
#ifndef SPMM_ROWS  // of whole rows, a warp
#define SPMM_ROWS 0
#endif
#ifndef SPMM_LANES  // of one column, a short row
#define SPMM_LANES 0
#endif
static_assert(SPMM_STRIP == 0 || SPMM_STRIP == 32 || SPMM_STRIP == 64 || SPMM_STRIP == 128,
              "a strip is what a group of lanes covers");
static_assert(SPMM_PANELS >= 0 && SPMM_BANDS >= 0, "panels and bands are counted");
static_assert(SPMM_SEGMENT % 32 == 0, "a segment is whole rounds of a warp");

namespace optimized {

// Lanes that read one row of B together, as they are compiled.
struct Group {
  int vector;  // floats a lane loads at once
  int lanes;
  constexpr int strip() const { return vector * lanes; }
};
inline constexpr Group kGroups[] = {{4, 4},  {4, 8}, {4, 16}, {4, 32}, {2, 8},
                                    {2, 16}, {1, 8}, {1, 16}, {1, 32}};

inline constexpr int kMostBands = 16;  // of a panel
static_assert(SPMM_BANDS <= kMostBands, "a row's bands are kept in registers");

struct Strategy {
  Group group{4, 8};      // of the strips
  int strips = 1;         // whole ones
  Group last{4, 8};       // of what k leaves over
  int last_columns = 0;   // 0: nothing
  int padded_pitch = 0;   // floats a row of the copy of B; 0: B is gathered as it is
  int panels = 1;         // launches over consecutive column ranges of A
  int panel_columns = 0;  // columns of A a panel
  int bands = 1;          // a panel
  int band_columns = 0;   // columns of A a band
  int short_row =
      32;  // rows of at most so many entries (in a panel) go to one group of lanes, others to a warp
  int segment = 512;             // entries a warp takes at most
  bool lists_short_rows = true;  // false: the kernel finds them itself
  bool whole_rows = false;       // short rows are walked over all of k at once
  int rows_a_warp = 4;           // of whole rows
  int lanes = 8;                 // of one column: lanes a short row

  int all_strips() const { return strips + (last_columns > 0 ? 1 : 0); }
};

struct Device {
  std::int64_t l2_bytes = 0;  // 0: the driver does not say
  int multiprocessors = 1;
  std::int64_t known_l2() const { return l2_bytes > 0 ? l2_bytes : std::int64_t{40} << 20; }
};

struct Sizes {
  std::int64_t rows, cols, nnz, k;
  double locality = 0.0;    // 0: columns as if drawn at random, 1: all near the diagonal (locality.cuh)
  double long_share = 1.0;  // of the entries, those in rows of more than kShortRow entries
  std::int64_t mean_row() const { return nnz / std::max<std::int64_t>(rows, 1); }
  std::int64_t b_bytes(std::int64_t columns) const {
    return cols * columns * static_cast<std::int64_t>(sizeof(float));
  }
};

inline std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

inline constexpr std::int64_t kWidestStrip = 128, kNarrowestStrip = 32, kShortMean = 12,
                              kMeanOfLocalRows = 24;
inline constexpr int kShortRow = 32;
inline constexpr std::int64_t kWarpsAnSm = 48;
inline constexpr double kFewLong = 0.01;  // rows are even where so few entries are in long ones
inline constexpr double kLocal = 0.35;    // from this locality on, neighbours ask for the same rows of B

// Columns this far from the diagonal count as near it: rows of B's widest strip for an eighth of L2.
inline std::int64_t reach_of(std::int64_t l2_bytes) {
  return l2_bytes / (8 * kWidestStrip * static_cast<std::int64_t>(sizeof(float)));
}

// From the share of entries near the diagonal: 0 where columns drawn at random would have as many, 1 where
// all are.
inline double locality_of(double share, std::int64_t cols, std::int64_t reach) {
  const double covered = std::min(1.0, static_cast<double>(reach) / static_cast<double>(cols));
  const double at_random = 1.0 - (1.0 - covered) * (1.0 - covered);
  if (at_random >= 1.0) return 0.0;  // everything is near
  return std::clamp((share - at_random) / (1.0 - at_random), 0.0, 1.0);
}

// Whether a warp can walk all of k, and k is wide enough for that.
inline bool whole_rows_matter(const Sizes& size) {
  constexpr std::int64_t kFewestColumns = 128, kShortMeanOfOnePass = 9;
  return size.k >= kFewestColumns && size.k % 4 == 0 &&
         size.mean_row() < (size.k > kFewestColumns ? kShortMean : kShortMeanOfOnePass);
}

// Whether a choice depends on where the columns of A lie.
inline bool locality_matters(const Sizes& size, std::int64_t l2_bytes) {
  if (size.nnz == 0 || size.mean_row() >= kMeanOfLocalRows) return false;
  return size.k == 1 ||
         (size.k > kNarrowestStrip &&
          (whole_rows_matter(size) || size.b_bytes(std::min(size.k, kWidestStrip)) > l2_bytes * 3 / 4));
}

inline bool choose_whole_rows(const Sizes& size) {
  if (SPMM_WHOLE_ROWS > 0) return SPMM_WHOLE_ROWS == 1 && size.k % 4 == 0 && size.k > 1;
  return whole_rows_matter(size) && size.locality >= kLocal && size.long_share <= kFewLong;
}

// The widest strip of B that fills at most three quarters of L2, from 32 columns on. Others
//  - where there is little work: 32, so that many groups of lanes share a long row.
//  - where not even 32 columns fit and rows are short: 64. What counts is how often A and the items are read.
//  - where rows are short and neighbours ask for the same rows of B: the widest. They are in L2 anyway.
//  - where little is gathered for a row of C and its strips end within what memory writes at once: twice as
//    wide, or one strip. Such pieces are written twice, and those that end within a sector are read as well.
inline int choose_strip(const Sizes& size, int widest, std::int64_t l2_bytes) {
  constexpr std::int64_t kLittleWork = 12'000'000, kShortMeanOfSectors = 24;
  constexpr std::int64_t kSector = 8, kMemoryWrite = 16;  // floats
  if (SPMM_STRIP > 0) return std::min(SPMM_STRIP, widest);
  std::int64_t strip = kNarrowestStrip;
  if (size.nnz * size.k < kLittleWork) return static_cast<int>(std::min<std::int64_t>(strip, widest));
  const bool is_short = size.mean_row() < kShortMean;
  const auto doubled = [&] { return size.k % strip == 0 ? 2 * strip : std::min(2 * strip, size.k); };
  while (strip < widest && strip < size.k && size.b_bytes(doubled()) <= l2_bytes * 3 / 4) strip *= 2;
  const bool overflows = size.b_bytes(strip) > l2_bytes;
  if (overflows && is_short && strip < size.k) strip = 2 * kNarrowestStrip;
  const bool ends_within =
      is_short ? size.k % kMemoryWrite != 0 : size.mean_row() < kShortMeanOfSectors && size.k % kSector != 0;
  if (ends_within && strip < size.k) strip = is_short && size.k <= widest ? widest : 2 * strip;
  if (size.mean_row() < kMeanOfLocalRows && size.locality >= kLocal) strip = widest;
  return static_cast<int>(std::min<std::int64_t>(strip, widest));
}

// The narrowest group that covers `columns`; some group covers every strip.
inline Group find_group(int vector, std::int64_t columns) {
  Group best{0, 0};
  for (const Group& group : kGroups) {
    if (group.vector != vector || group.strip() < columns) continue;
    if (best.lanes == 0 || group.strip() < best.strip()) best = group;
  }
  return best;
}

// C's columns: whole strips, then what is left.
struct Cut {
  std::int64_t strips, last_columns;
};

// A pass over A for a few columns costs nearly as much as one for a whole strip: they join the strip before.
// Of wide strips only a few do, because lanes of twice the strip stay idle.
inline Cut cut_columns(std::int64_t k, std::int64_t strip, std::int64_t widest) {
  constexpr std::int64_t kNarrowest = 32, kJoinsNarrow = 2, kJoinsWide = 5;  // up to a half, up to a fifth
  Cut cut{k / strip, k % strip};
  const std::int64_t share = strip > kNarrowest ? kJoinsWide : cut.strips > 1 ? kJoinsNarrow : 1;
  const bool joins = cut.last_columns > 0 && share * cut.last_columns <= strip;
  if (cut.strips == 0 || !joins || 2 * strip > widest) return cut;
  return {cut.strips - 1, cut.last_columns + strip};
}

// The pitch of a copy of B, 0 where none pays. Rows that begin anywhere touch more lines than they fill, and
// strips of them fill L2 with the lines of all of B; where k is no multiple of 4 they take four loads instead
// of one as well.
inline int choose_padding(const Sizes& size, const Cut& cut) {
  constexpr std::int64_t kFewestColumns = 8, kVector = 4, kLine = 32;  // floats
  constexpr std::int64_t kReadsThatPayForVectors = 3;
  // What a float copied costs, in floats of lines touched, doubled: of a copy made for lines alone (the
  // launch included), where there is one strip or several; and of wider rows in a copy that is made anyway.
  constexpr std::int64_t kCopied = 12, kCopiedForStrips = 4, kWidened = 20;
  const std::int64_t vectors = round_up(size.k, kVector);
  const bool is_aligned = vectors == size.k;
  if (size.k <= kFewestColumns || (!is_aligned && size.nnz < kReadsThatPayForVectors * size.cols)) return 0;
  const std::int64_t lines = round_up(vectors, vectors <= kLine / 2 ? kLine / 2 : kLine);
  // w floats that begin at a multiple of `step` floats touch 1 + (w - step) / 32 lines in the mean.
  const std::int64_t step = std::gcd(vectors, kLine), last = round_up(cut.last_columns, kVector);
  const std::int64_t saved =
      cut.strips * (kLine - step) + (last > 0 ? kLine + last - step - round_up(last, kLine) : 0);
  const std::int64_t copied = (cut.strips == 0 ? kCopied : kCopiedForStrips) * (size.k + lines);
  const std::int64_t price = is_aligned ? copied : kWidened * (lines - vectors);
  if (saved > 0 && 2 * size.nnz * saved >= price * size.cols) return static_cast<int>(lines);
  return is_aligned ? 0 : static_cast<int>(vectors);
}

inline void choose_strips(const Sizes& size, std::int64_t l2_bytes, Strategy* s) {
  constexpr int kWidest = static_cast<int>(kWidestStrip), kWidestOfNarrowLoads = 32;
  int vector = 4;
  std::int64_t strip = choose_strip(size, kWidest, l2_bytes);
  Cut cut = cut_columns(size.k, strip, kWidest);
  s->padded_pitch = choose_padding(size, cut);
  if (s->padded_pitch == 0 && size.k % 4 != 0) {
    vector = size.k % 2 == 0 ? 2 : 1;
    strip = choose_strip(size, kWidestOfNarrowLoads, l2_bytes);
    cut = cut_columns(size.k, strip, kWidestOfNarrowLoads);
  }
  s->group = find_group(vector, strip);
  s->strips = static_cast<int>(cut.strips);
  s->last_columns = static_cast<int>(cut.last_columns);
  s->last = find_group(vector, std::max<std::int64_t>(cut.last_columns, 1));
}

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
  const std::int64_t passes = is_long ? 1 : is_middle ? std::max<std::int64_t>(strips / 2, 1) : strips;
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

// Of one column: lanes that take a short row, and how long it may be.
struct Lanes {
  int lanes, short_row;
};
inline Lanes choose_lanes(const Sizes& size, int multiprocessors) {
  constexpr std::int64_t kRowsOfFour = 32;  // that a warp has under way where four lanes take a row
  const std::int64_t mean = size.mean_row();
  const bool is_even = size.long_share <= kFewLong;
  const bool fills = size.rows / kRowsOfFour >= kWarpsAnSm * multiprocessors;
  Lanes chosen{8, kShortRow};
  if (is_even && mean < 4) {
    chosen.lanes = 2;
  } else if (mean < 9 && (is_even || fills)) {
    chosen.lanes = 4;
  } else if (mean >= 24 && mean < 64) {
    chosen = {16, 64};
  } else if (mean >= 64 && mean < 128) {
    chosen = {32, 128};
  }
  if (SPMM_LANES > 0) chosen.lanes = SPMM_LANES;
  if (SPMM_SHORT_ROW > 0) chosen.short_row = SPMM_SHORT_ROW;
  return chosen;
}

// Rows that a warp walks one after the other: as many as have their entries in one load.
inline int choose_rows_a_warp(const Sizes& size) {
  if (SPMM_ROWS > 0) return SPMM_ROWS;
  const std::int64_t mean = size.mean_row();
  if (size.k <= 128) return mean < 4 ? 8 : 4;
  if (mean >= 8) return 2;
  return mean < 4 && size.k <= 256 ? 8 : 4;
}

inline Strategy choose_strategy(const Sizes& size, const Device& device) {
  const std::int64_t l2_bytes = device.known_l2();
  Strategy s;
  choose_strips(size, l2_bytes, &s);
  const std::int64_t strips = s.all_strips();
  s.panels = choose_panels(size, std::max(s.strips > 0 ? s.group.strip() : 0, s.last_columns), l2_bytes);
  s.panel_columns = static_cast<int>((size.cols + s.panels - 1) / s.panels);
  s.bands = choose_bands(size, s, l2_bytes);
  s.band_columns = (s.panel_columns + s.bands - 1) / s.bands;
  s.segment = choose_segment(size, strips, device.multiprocessors);
  s.whole_rows = choose_whole_rows(size);
  s.rows_a_warp = choose_rows_a_warp(size);
  s.lists_short_rows = size.k > 1 && !s.whole_rows;
  const Lanes lanes = choose_lanes(size, device.multiprocessors);
  s.lanes = lanes.lanes;
  s.short_row = size.k == 1    ? lanes.short_row
                : s.whole_rows ? kShortRow
                               : choose_short_row(size, s, device.multiprocessors);
  return s;
}

}  // namespace optimized
