// What A and B of lab spmm are filled with. One way of drawing serves every run, timed or not, so that
// neither the values nor their order tell a program what a run is for:
//
//   A  uniform in [-1, 1); in the columns of a random eighth of B's rows (`is_unit_row`) -1 or 1.
//   B  most columns are dense: uniform in [-1, 1). A few, which the seed chooses, are sparse: the share
//      16^-level of their cells is drawn, the others are 0. Two kinds of them:
//        sparse  uniform values. However long a row of A is, in one of these columns only a few of its terms
//                are not 0, and an error bound that follows sum|a||b| is tight there.
//        exact   odd integers of 18 bits (times 2^-18), in unit rows alone, so that every term is such an
//                integer. Sums of up to 60 of them are exact in fp32 in any order, and in nothing shorter:
//                such a cell is compared bit for bit.
//
// `draw_column_kinds` takes as many levels as the longest row needs: a row of any length has a sparse column
// with 4 to 64 expected terms (or is shorter than 64 entries, where dense columns do the same), and one of 32
// entries or more has an exact column with 4 to 64 expected terms.
#pragma once

#include <cstdint>
#include <vector>

#include "judge/measure/random.h"

namespace warpgrade::spmm {

// A column of B: dense, or sparse or exact at a level (0 .. 15).
using ColumnKind = std::uint8_t;
inline constexpr ColumnKind kDense = 0, kSparse = 16, kExact = 32;  // a level is added to the latter two

WARPGRADE_HOST_DEVICE inline bool is_exact(ColumnKind kind) {
  return kind >= kExact;
}

inline constexpr int kUnitShare = 8;    // one of so many rows of B is a unit row
inline constexpr int kLevelShare = 16;  // the next level has this much fewer cells that are not 0
inline constexpr int kMostTerms = 64;   // expected in some sparse column, of a row of any length

WARPGRADE_HOST_DEVICE inline bool is_unit_row(std::uint64_t a_seed, std::int64_t b_row) {
  return random_bits(~a_seed, static_cast<std::uint64_t>(b_row)) % kUnitShare == 0;
}

// Entry e of A, which stands in this column.
WARPGRADE_HOST_DEVICE inline float a_value(std::uint64_t a_seed, std::int64_t entry, int column) {
  const std::uint64_t bits = random_bits(a_seed, static_cast<std::uint64_t>(entry));
  return is_unit_row(a_seed, column) ? unit_value(bits) : uniform_value(bits);
}

// B [n, k], row-major. `kinds` [k] lies in the memory of whoever draws.
struct DenseValues {
  std::uint64_t seed = 0, a_seed = 0;
  std::int64_t k = 0;
  const ColumnKind* kinds = nullptr;

  WARPGRADE_HOST_DEVICE float at(std::int64_t row, std::int64_t col) const {
    const std::uint64_t bits = random_bits(seed, static_cast<std::uint64_t>(row * k + col));
    const ColumnKind kind = kinds[col];
    if (kind == kDense) return uniform_value(bits);
    const int level = kind % 16;
    // The lower 32 bits are used by nothing else.
    if (level > 0 && static_cast<std::uint32_t>(bits) >> (32 - 4 * level) != 0) return 0.0f;
    if (!is_exact(kind)) return uniform_value(bits);
    return is_unit_row(a_seed, row) ? odd_value(bits) : 0.0f;
  }
};

// The kinds of k columns for a matrix whose longest row has this many entries. At least two thirds are dense.
std::vector<ColumnKind> draw_column_kinds(std::uint64_t seed, int k, std::int64_t longest_row);

}  // namespace warpgrade::spmm
