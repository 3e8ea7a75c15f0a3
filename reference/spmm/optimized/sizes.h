// What the optimized SpMM knows of a problem and what it decides of it, with the macros that decide in
// its place.
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
#ifndef SPMM_STREAM  // of one column: 1: rows are read as a stream of entries, 2: nowhere
#define SPMM_STREAM 0
#endif
static_assert(SPMM_STRIP == 0 || SPMM_STRIP == 32 || SPMM_STRIP == 64 || SPMM_STRIP == 128,
              "a strip is what a group of lanes covers");
static_assert(SPMM_PANELS >= 0 && SPMM_BANDS >= 0, "panels and bands are counted");
static_assert(SPMM_ROWS >= 0 && SPMM_ROWS <= 31, "the lanes of a warp hold the offsets of its rows");
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
  int rows_a_warp = 4;           // of whole rows, at most 31
  int lanes = 8;                 // of one column: lanes a short row
  bool many_rounds = false;      // of one column: a warp has more of a long row under way
  int stream_window = 0;         // of one column: entries a warp reads as a stream; 0: lanes take rows

  int all_strips() const { return strips + (last_columns > 0 ? 1 : 0); }
};

struct Device {
  std::int64_t l2_bytes = 0;  // 0: the driver does not say
  int multiprocessors = 1;
  std::int64_t known_l2() const { return l2_bytes > 0 ? l2_bytes : std::int64_t{40} << 20; }
};

inline constexpr double kFewLong = 0.01;  // rows are even where so few entries are in long ones

struct Sizes {
  std::int64_t rows, cols, nnz, k;
  double locality = 0.0;      // 0: columns as if drawn at random, 1: all near the diagonal (locality.cuh)
  double long_share = 1.0;    // of the entries, those in rows of more than kShortRow entries
  bool whole_vectors = true;  // columns and values begin at multiples of 16 bytes
  std::int64_t mean_row() const { return nnz / std::max<std::int64_t>(rows, 1); }
  bool is_even() const { return long_share <= kFewLong; }
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
inline constexpr std::int64_t kManyNearEntries = 300'000;  // enough to fill a GPU
inline constexpr double kLocal = 0.35;  // from this locality on, neighbours ask for the same rows of B

// Columns this far from the diagonal count as near it: rows of B's widest strip for an eighth of L2.
inline std::int64_t reach_of(std::int64_t l2_bytes) {
  return l2_bytes / (8 * kWidestStrip * static_cast<std::int64_t>(sizeof(float)));
}

// From the share of entries near the diagonal: 0 where columns drawn at random would have as many, 1
// where all are.
inline double locality_of(double share, std::int64_t cols, std::int64_t reach) {
  const double covered = std::min(1.0, static_cast<double>(reach) / static_cast<double>(cols));
  const double at_random = 1.0 - (1.0 - covered) * (1.0 - covered);
  if (at_random >= 1.0) return 0.0;  // everything is near
  return std::clamp((share - at_random) / (1.0 - at_random), 0.0, 1.0);
}

// Whether a warp may walk all of k: k is wide enough for that, and rows are as short as they may be.
inline constexpr std::int64_t kOnePass = 128;  // columns that a warp reads with one load a lane
inline bool whole_rows_matter(const Sizes& size) {
  constexpr std::int64_t kEvenMean = 32;
  return 4 * size.k >= 3 * kOnePass && size.k % 4 == 0 &&
         size.mean_row() < (size.k > kOnePass ? kEvenMean : kShortMean);
}

// Whether a choice depends on where the columns of A lie.
inline bool locality_matters(const Sizes& size, std::int64_t l2_bytes) {
  if (size.nnz == 0) return false;
  if (size.k == 1 || whole_rows_matter(size)) return true;
  if (size.mean_row() >= kMeanOfLocalRows) return false;
  return size.k > kNarrowestStrip && size.b_bytes(std::min(size.k, kWidestStrip)) > l2_bytes * 3 / 4;
}

// Where columns are near and rows are even, or short ones are many and have most entries: long rows want
// strips, and among few others they would be waited for.
inline bool choose_whole_rows(const Sizes& size) {
  constexpr std::int64_t kMeanOfOnePass = 9;
  constexpr double kMostLong = 0.5;
  if (SPMM_WHOLE_ROWS > 0) return SPMM_WHOLE_ROWS == 1 && size.k % 4 == 0 && size.k > 1;
  if (!whole_rows_matter(size) || size.locality < kLocal) return false;
  const std::int64_t longest_mean = size.k > kOnePass ? kShortMean : kMeanOfOnePass;
  return size.is_even() ||
         (size.mean_row() < longest_mean && size.nnz >= kManyNearEntries && size.long_share < kMostLong);
}

}  // namespace optimized
