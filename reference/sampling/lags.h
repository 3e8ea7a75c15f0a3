// Draws that lie a distance apart: which pairs and triples of cells a check counts, for host and GPU.
//
// A cell is a number: row * fanout + draw. Under the null hypothesis the levels of all cells are independent
// and uniform, so for one distance L > 0 the phases a * level[c] + b * level[c + L] (modulo 64, b not 0) of
// ALL cells c are independent too, although each cell stands in two pairs: given the cells before c + L, the
// newest level alone makes the phase uniform. The same holds for triples, for differences of levels and for
// "the same place". So nothing is lost to pairs that must not overlap, and the bounds of statistics.h and
// spectrum.h hold as they are.
#pragma once

#include "sampling/places.h"

namespace warpgrade::sampling {

constexpr int kTripleLevels = 32;                   // of each side of a triple
constexpr std::uint64_t kMostPairs = 1ull << 26;    // that a test counts: a random stretch of a larger run
constexpr std::uint64_t kMostTriples = 1ull << 24;  // the same

// Cell c of the run with cell c + distance, for c in [begin, end).
struct Lag {
  std::int64_t distance = 0;  // of two runs: also negative or 0
  bool earlier_run = false;   // the partner is a cell of an earlier run, with another seed
  std::uint64_t begin = 0, end = 0;
};

struct LagCounts {
  std::uint64_t joint[kLevels * kLevels] = {};  // [level of c][level of its partner]
  // Pairs in rows of equal degree d: how many, how many at the same place, and the sum of 1 / d.
  std::uint64_t comparable = 0, equal = 0;
  double expected_equal = 0;
};

// Cells c, c + first and c + second of one run, 0 < first < second, for c in [begin, end).
struct Triple {
  std::uint64_t first = 0, second = 0;
  std::uint64_t begin = 0, end = 0;
};

struct TripleCounts {
  std::uint32_t joint[kTripleLevels * kTripleLevels * kTripleLevels] = {};  // [c][c + first][c + second]
};

// A run as a string of fair bits, one a cell, of which equal random words make equal bits:
//   plane 0   the upper half of the row: whatever the degree, where words are reduced by multiplication
//   plane 1   the place's last bit where the degree is even: whatever the even degree, where words are
//   reduced by remainder; in rows of odd
//             degree the second binary digit of the position
// Cells without a random draw, and a middle that belongs to neither half, take the checker's own bit.
constexpr int kPlanes = 2;
WARPGRADE_PHILOX_FUNCTION unsigned plane_bit(int plane, unsigned degree, int place, unsigned char level,
                                             std::uint32_t random) {
  if (level == kNoLevel) return random >> 31;
  if (plane == 0) return level >= kLevels / 2 ? 1 : 0;
  if (degree % 2 == 0) return static_cast<unsigned>(place) & 1;
  const unsigned doubled = static_cast<unsigned>(2ull * static_cast<unsigned>(place) % degree),
                 middle = degree / 2;
  return doubled == middle ? random >> 31 : doubled > middle ? 1 : 0;
}

// Looks for a stretch of cells that occurs twice, at any distance, as baby steps and giant steps do: the
// stretches that begin at each of the `block` cells from `base` on (of the earlier run, if it says so),
// against the stretches that begin at each multiple of `block` of the run. Any distance L is that of one
// of these pairs.
constexpr int kMostStretchWords = 64;
constexpr unsigned kMostBlock = 1u << 14;
struct RepeatSearch {
  int plane = 0;
  bool earlier_run = false;
  std::uint64_t cells = 0, base = 0;
  unsigned block = 0;  // a power of two, at least 64
  unsigned words = 0;  // of 32 cells, in a stretch
  WARPGRADE_PHILOX_FUNCTION std::uint64_t giants() const {
    return cells < words * 32ull ? 0 : (cells - words * 32ull) / block + 1;
  }
};

// The pair whose bits agree most, or disagree most, as one number to be compared: |agreement - half| in the
// upper bits, then the giant step, then the baby step.
WARPGRADE_PHILOX_FUNCTION std::uint64_t repeat_key(int agreement, unsigned words, std::uint64_t giant,
                                                   unsigned baby) {
  const int off = agreement - static_cast<int>(words) * 16;
  return static_cast<std::uint64_t>(off < 0 ? -off : off) << 48 | giant << 16 | baby;
}

struct Repeat {
  unsigned deviation = 0;             // |agreement - half|, in bits
  std::uint64_t giant = 0, baby = 0;  // the cells where the two stretches begin
};
inline Repeat repeat_of(std::uint64_t key, const RepeatSearch& search) {
  return {static_cast<unsigned>(key >> 48), (key >> 16 & 0xFFFFFFFFull) * search.block,
          search.base + (key & 0xFFFF)};
}

}  // namespace warpgrade::sampling
