// What the checks of sampling look at: the place in its row of every drawn neighbour, and its level. For
// host and GPU.
//
// Under the null hypothesis a place is uniform on [0, degree) and a level uniform on [0, 64), whatever the
// degree: the checker's own random bits, drawn after the run, break ties among equal neighbours and spread a
// place over the levels that it covers. So cells of all rows can be counted together, exactly.
#pragma once

#include "warpgrade/philox.h"

namespace warpgrade::sampling {

constexpr int kLevels = 64;
constexpr int kPairLevels = 8;      // of each side of a pair
constexpr int kNoSample = -1;       // the contract's kNoNeighbour, for files without CUDA
constexpr int kNoPlace = -1;        // a row of degree 0 or 1: nothing is random
constexpr int kBadPlace = -2;       // not a neighbour
constexpr int kDegreeClasses = 32;  // floor(log2(degree))
constexpr unsigned char kNoLevel = 255;

struct Place {
  int place = kNoPlace;
  unsigned char level = kNoLevel;
};

// The first index in the sorted row whose entry is at least `value` (kAbove: more than it).
template <bool kAbove>
WARPGRADE_PHILOX_FUNCTION unsigned lower_index(const int* row, unsigned degree, int value) {
  unsigned begin = 0, length = degree;
  while (length > 0) {
    const unsigned half = length / 2;
    const bool right = kAbove ? row[begin + half] <= value : row[begin + half] < value;
    begin = right ? begin + half + 1 : begin;
    length = right ? length - half - 1 : half;
  }
  return begin;
}

// `row` holds the node's neighbours, degree > 0.
WARPGRADE_PHILOX_FUNCTION Place place_of(const int* row, unsigned degree, int sample, std::uint32_t random) {
  const unsigned first = lower_index<false>(row, degree, sample);
  if (first == degree || row[first] != sample) return {kBadPlace, kNoLevel};
  if (degree == 1) return {};
  unsigned place = first;
  if (first + 1 < degree && row[first + 1] == sample) {
    const unsigned last = lower_index<true>(row, degree, sample);
    place += draw_below(random << 6, last - first);
  }
  const std::uint64_t fine = static_cast<std::uint64_t>(place) * kLevels + random % kLevels;
  return {static_cast<int>(place), static_cast<unsigned char>(fine / degree)};
}

// The random word of a cell in one check. The mixer is splitmix64's; it is defined here once more because
// this folder is built without any other of the project.
WARPGRADE_PHILOX_FUNCTION std::uint32_t tie_breaker(std::uint64_t cell, std::uint64_t seed) {
  std::uint64_t z = seed + (cell + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return static_cast<std::uint32_t>((z ^ (z >> 31)) >> 32);
}

// Which cells a test of independence pairs. Rows of a grid: cell (i, j) with (i ^ row_mask, j ^
// draw_mask); flat: cell c with c ^ flat_mask. Every cell is in at most one pair, so that pairs are
// independent of each other.
struct Pairing {
  bool earlier_run = false;  // the partner is a cell of an earlier run, with another seed
  unsigned row_mask = 0, draw_mask = 0;
  std::uint64_t flat_mask = 0;  // not 0: a flat pairing
};

struct PairCounts {
  std::uint64_t cells[kPairLevels * kPairLevels] = {};
  // Pairs in rows of equal degree d: how many, how many at the same place, and the sum of 1 / d.
  std::uint64_t comparable = 0, equal = 0;
  double expected_equal = 0;
};

}  // namespace warpgrade::sampling
