// How far an honest fp32 result may lie from the exact one; both kinds of buffers and the program that
// measures false alarms (grader/tests/precision) use these formulas. u = 2^-24 is fp32's unit roundoff.
//
// Each addition rounds its partial sum S by about 0.4 u |S|, at random. Products of mean zero add up to
// |S_i| ~ sigma sqrt(i), so the errors of n additions add up to about 0.4 u sigma n / sqrt(2), and sum|a||b|
// is n times the mean of |a b|: their ratio does not grow with n. Summed one after the other (the worst
// order) it is 0.40 u sum|a||b| in the root mean square, and its tail is exponential, since a partial sum
// that strays far strays for long: P(error > x u sum|a||b|) < exp(-x / 0.36) / 2.
// grader/judge/labs/spmm/README.md has the figures.
#pragma once

#include <cstdint>

#include "judge/labs/spmm/values.h"

namespace warpgrade::spmm {

inline constexpr double kUnitRoundoff = 0x1p-24;
inline constexpr double kCellFactor = 8;
// Of 10^9 honest cells one may lie beyond the bound; none lies beyond twice the bound.
inline constexpr double kOutlierFactor = 2;

// How the terms of a sum were drawn.
enum class Terms {
  kMeanZero,  // as values.h draws: partial sums stay near 0
  kOneSign,   // partial sums grow like i: the roundings of n of them add up to 0.24 u sqrt(n) sum|a||b|
};

WARPGRADE_HOST_DEVICE inline double square_root(double x) {
#ifdef __CUDA_ARCH__
  return sqrt(x);
#else
  return __builtin_sqrt(x);
#endif
}

// A cell: |got - want| <= 8 u sum|a||b|, whatever the row's length; where all terms have one sign,
// sqrt(nnz) times that.
WARPGRADE_HOST_DEVICE inline double cell_bound(double abs_sum, Terms terms = Terms::kMeanZero,
                                               double row_nnz = 1) {
  return kCellFactor * kUnitRoundoff * abs_sum * (terms == Terms::kOneSign ? square_root(row_nnz) : 1.0);
}

// Cells of an exact column are compared bit for bit while no partial sum, in any order, can leave the 24 bits
// in which fp32 counts: a sixteenth of them is left to programs that hold a value in two parts.
WARPGRADE_HOST_DEVICE inline bool is_exact_cell(ColumnKind kind, double abs_sum) {
  return is_exact(kind) && abs_sum <= 0.9375 * 0x1p24 * kOddUnit;
}

// A row of C * x with a Gaussian x of length sqrt(k): the errors of k cells, each of 0.4 u sum|a||b| with
// sum|a||b| near |a|_1 / 2 (the mean of |b| is 1/2), add up as a random walk to 0.4 u |a|_1 sqrt(k) / 2.
WARPGRADE_HOST_DEVICE inline double product_scale(double abs_row, double k) {
  return 0.5 * abs_row * square_root(k);
}

// ---- root mean squares, by row length ----

// Rows of 2^g to 2^(g+1) - 1 entries are group g: low precision in long rows alone can't hide behind
// many short ones.
inline constexpr int kLengthGroups = 32;
WARPGRADE_HOST_DEVICE inline int length_group(std::uint32_t row_nnz) {
#ifdef __CUDA_ARCH__
  return 31 - __clz(row_nnz | 1);
#else
  return 31 - __builtin_clz(row_nnz | 1);
#endif
}

// The largest root mean square of `count` errors, each over u sum|a||b| (or u times its product_scale),
// that is accepted.
double rms_limit(std::int64_t count);

// How many of `cells` may lie between their bound and twice their bound.
std::int64_t allowed_outliers(std::int64_t cells);

}  // namespace warpgrade::spmm
