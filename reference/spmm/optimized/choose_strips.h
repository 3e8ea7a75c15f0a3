// Which columns of B and C one pass over A covers, and whether B is copied into rows of whole vectors first.
#pragma once

#include "sizes.h"

namespace optimized {

// The widest strip of B that fills at most three quarters of L2, from 32 columns on. Others
//  - where there is little work: 32, so that many groups of lanes share a long row.
//  - where rows are long, but not so long that they share most rows of B, and B is not so small that L1 holds
//    much of it anyway: 32. L1 holds more rows of B then.
//  - where not even 32 columns fit and rows are short: 64. What counts is how often A and the items are read.
//  - where rows are short and neighbours ask for the same rows of B: the widest. They are in L2 anyway.
//  - where little is gathered for a row of C and its strips end within what memory writes at once: twice as
//    wide, or one strip. Such pieces are written twice, and those that end within a sector are read as well.
//  - where the widest would leave half of one over and rows are not long: half of it, so that one launch does
//    all.
inline int choose_strip(const Sizes& size, int widest, std::int64_t l2_bytes) {
  constexpr std::int64_t kLittleWork = 12'000'000, kLittleWorkOfMiddleRows = 9'000'000;
  constexpr std::int64_t kShortMeanOfSectors = 24, kMiddleMean = 32, kDenseMean = 64, kLongMean = 128;
  constexpr std::int64_t kSector = 8, kMemoryWrite = 16;  // floats
  if (SPMM_STRIP > 0) return std::min(SPMM_STRIP, widest);
  std::int64_t strip = kNarrowestStrip;
  const bool is_little =
      size.nnz * size.k < (size.mean_row() < kMiddleMean ? kLittleWork : kLittleWorkOfMiddleRows);
  const bool is_dense = size.k >= kWidestStrip && size.mean_row() >= kDenseMean &&
                        size.mean_row() < kLongMean && 16 * size.b_bytes(kWidestStrip) >= l2_bytes;
  if (is_little || is_dense) return static_cast<int>(std::min<std::int64_t>(strip, widest));
  const bool is_short = size.mean_row() < kShortMean;
  const auto doubled = [&] { return size.k % strip == 0 ? 2 * strip : std::min(2 * strip, size.k); };
  while (strip < widest && strip < size.k && size.b_bytes(doubled()) <= l2_bytes * 3 / 4) strip *= 2;
  const bool overflows = size.b_bytes(strip) > l2_bytes;
  if (overflows && is_short && strip < size.k) strip = 2 * kNarrowestStrip;
  const bool ends_within =
      is_short ? size.k % kMemoryWrite != 0 : size.mean_row() < kShortMeanOfSectors && size.k % kSector != 0;
  if (ends_within && strip < size.k) strip = is_short && size.k <= widest ? widest : 2 * strip;
  const bool is_near =
      size.mean_row() < kMeanOfLocalRows && size.locality >= kLocal && size.nnz >= kManyNearEntries;
  if (is_near) strip = widest;
  const bool leaves_half = size.k > strip && 2 * (size.k % strip) == strip;
  if (!is_near && strip == kWidestStrip && leaves_half && size.mean_row() < kLongMean) strip /= 2;
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

}  // namespace optimized
