// What a drawn cell holds, as a formula of seed and place: the same bits on the host and on a GPU. So
// nothing here calls a mathematical library but for exact operations, and no product is contracted with
// the sum that it goes into: plus() and times() are rounded one by one. Sources that include this are
// compiled with -ffp-contract=off.
#pragma once

#include <cmath>
#include <cstdint>

#include "judge/declaration/lab_declaration.h"
#include "judge/declaration/number_bits.h"
#include "judge/measure/random.h"

#ifndef __CUDA_ARCH__
#include <bit>
#endif

namespace warpgrade::declared {

inline constexpr std::uint64_t kSecondStream = 0x9d2c5680a1b4c3f7ull;  // others of the same seed
inline constexpr std::uint64_t kThinStream = 0x51b2e9c07d3a8f65ull;

WARPGRADE_HOST_DEVICE inline double plus(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}
WARPGRADE_HOST_DEVICE inline double times(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}

// [0, 1), 53 bits.
WARPGRADE_HOST_DEVICE inline double unit(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

// Bits of the number without leading zeros.
WARPGRADE_HOST_DEVICE inline int width_of(std::uint64_t number) {
#ifdef __CUDA_ARCH__
  return 64 - __clzll(static_cast<long long>(number));
#else
  return static_cast<int>(std::bit_width(number));
#endif
}

// [low, high], without bias beyond 2^-64 (D. Lemire 2019, the multiplication without its rejection).
WARPGRADE_HOST_DEVICE inline std::int64_t whole_between(std::int64_t low, std::int64_t high,
                                                        std::uint64_t bits) {
  const std::uint64_t count = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  if (count == 0) return static_cast<std::int64_t>(bits);
#ifdef __CUDA_ARCH__
  const std::uint64_t step = __umul64hi(bits, count);
#else
  const auto step = static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits) * count) >> 64);
#endif
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + step);
}

WARPGRADE_HOST_DEVICE inline double real_between(double low, double high, std::uint64_t bits) {
  return plus(low, times(high - low, unit(bits)));
}

// Place i of a permutation of [0, count): a Feistel network over the next even power of two, walked until it
// falls inside (J. Black, P. Rogaway 2002).
WARPGRADE_HOST_DEVICE inline std::int64_t permuted(std::int64_t i, std::int64_t count, std::uint64_t seed) {
  constexpr int kRounds = 6;
  const int width = width_of(static_cast<std::uint64_t>(count - 1));
  const int half = width > 1 ? (width + 1) / 2 : 1;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  auto at = static_cast<std::uint64_t>(i);
  do {
    std::uint64_t left = at >> half, right = at & mask;
    for (int round = 0; round < kRounds; ++round) {
      const std::uint64_t mixed =
          left ^ (random_bits(seed + static_cast<std::uint64_t>(round), right) >> (64 - half));
      left = right;
      right = mixed & mask;
    }
    at = left << half | right;
  } while (at >= static_cast<std::uint64_t>(count));
  return static_cast<std::int64_t>(at);
}

// ---- normal numbers (G. Box, M. Muller 1958) ----

// The natural logarithm of a number in (0, 1], to a few units of the last place: the series of atanh.
WARPGRADE_HOST_DEVICE inline double logarithm(double x) {
  constexpr double kLn2 = 0.693147180559945309417;
  constexpr double kOdd[] = {1,        1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9, 1.0 / 11,
                             1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
  const std::uint64_t bits = declaration::bits_of_double(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = declaration::double_of_bits((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 1.41421356237309504880) {  // to [sqrt(1/2), sqrt(2)]
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1), square = times(s, s);
  double sum = 0;
  for (int n = 10; n >= 0; --n) sum = plus(times(sum, square), kOdd[n]);
  return plus(times(exponent, kLn2), times(2 * s, sum));
}

struct TwoNumbers {
  double first = 0, second = 0;
};

// Cosine and sine of `turns` whole turns, of [0, 1): from the nearest quarter, which is exact, by
// Taylor's series.
WARPGRADE_HOST_DEVICE inline TwoNumbers cosine_and_sine(double turns) {
  constexpr double kTau = 6.28318530717958647693;
  constexpr double kEven[] = {1.0 / 2,  1.0 / 12,  1.0 / 30,  1.0 / 56,
                              1.0 / 90, 1.0 / 132, 1.0 / 182, 1.0 / 240};
  constexpr double kOdd[] = {1.0 / 6,   1.0 / 20,  1.0 / 42,  1.0 / 72,
                             1.0 / 110, 1.0 / 156, 1.0 / 210, 1.0 / 272};
  const int quarter = static_cast<int>(4 * turns + 0.5);
  const double x = times(kTau, turns - 0.25 * quarter), square = times(x, x);
  double cosine = 1, sine = 1;
  for (int n = 7; n >= 0; --n) {  // 1 - x^2/(1*2) (1 - x^2/(3*4) (1 - ...)), and so on
    cosine = plus(1, -times(times(square, kEven[n]), cosine));
    sine = plus(1, -times(times(square, kOdd[n]), sine));
  }
  sine = times(x, sine);
  switch (quarter & 3) {
    case 0:
      return {cosine, sine};
    case 1:
      return {-sine, cosine};
    case 2:
      return {-cosine, -sine};
    default:
      return {sine, -cosine};
  }
}

// Two independent numbers of mean 0 and deviation 1, for the cells 2 * pair and 2 * pair + 1.
WARPGRADE_HOST_DEVICE inline TwoNumbers standard_normals(std::uint64_t seed, std::int64_t pair) {
  const auto i = static_cast<std::uint64_t>(pair);
  const double radius = std::sqrt(-2 * logarithm(1 - unit(random_bits(seed, i))));
  const TwoNumbers at = cosine_and_sine(unit(random_bits(seed ^ kSecondStream, i)));
  return {times(radius, at.first), times(radius, at.second)};
}

// ---- thin rows ----

// `certain` is kept, any other cell with a probability of `kept`.
struct ThinRow {
  std::int64_t number = 0, certain = 0;
  double kept = 0;
};

// The thin row of rows [group * per, group * per + per). Every other one keeps a single cell: a product with
// such a row has one term, whose precision no other term hides. The rest keep a share of 1/2, 1/4, ... of
// their cells, so that no count of zeros tells all of them from the other rows.
WARPGRADE_HOST_DEVICE inline ThinRow thin_row(std::int64_t group, std::int64_t per, std::int64_t row,
                                              std::uint64_t seed) {
  const std::uint64_t first = 3 * static_cast<std::uint64_t>(group), stream = seed ^ kThinStream;
  const std::int64_t halvings =
      whole_between(1, width_of(static_cast<std::uint64_t>(row)), random_bits(stream, first + 2));
  return {group * per + whole_between(0, per - 1, random_bits(stream, first)),
          whole_between(0, row - 1, random_bits(stream, first + 1)),
          group % 2 == 0 ? 0 : declaration::power_of_two(-static_cast<int>(halvings))};
}

// Whether the cell of that row keeps its number; `cell` counts through the array.
WARPGRADE_HOST_DEVICE inline bool keeps_cell(const ThinRow& thin, std::int64_t cell, std::int64_t row,
                                             std::uint64_t seed) {
  if (cell - thin.number * row == thin.certain) return true;
  return unit(random_bits(seed ^ kThinStream ^ kSecondStream, static_cast<std::uint64_t>(cell))) < thin.kept;
}

// ---- any cell ----

// One field of an array's elements, as it is drawn: numbers alone, so that a kernel can be given it.
struct FieldDraw {
  declaration::DrawKind kind = declaration::DrawKind::kUniform;
  declaration::Scalar type = declaration::Scalar::kInt32;
  double low = 0, high = 0, mean = 0, deviation = 0;
  std::int64_t whole_low = 0, whole_high = 0, thin_rows = 0;
  std::int64_t count = 0, row = 1;  // cells of the array, and of its last dimension
  std::uint64_t seed = 0;
  std::size_t offset = 0, stride = 0;
};

// Cell i of an ascending sequence: the i-th of `count` equal parts of the range, and a random place in it.
WARPGRADE_HOST_DEVICE inline void write_sorted(const FieldDraw& draw, std::int64_t i, std::byte* at) {
  const double place = unit(random_bits(draw.seed, static_cast<std::uint64_t>(i)));
  const double share = plus(static_cast<double>(i), place) / static_cast<double>(draw.count);
  if (is_floating(draw.type))
    return write_real(draw.type, plus(draw.low, times(draw.high - draw.low, share)), at);
  const auto low = static_cast<double>(draw.whole_low), high = static_cast<double>(draw.whole_high);
  const double value = plus(low, std::floor(times(high - low + 1, share)));
  write_whole(draw.type, value >= high ? draw.whole_high : static_cast<std::int64_t>(value), at);
}

WARPGRADE_HOST_DEVICE inline void write_one_hot(const FieldDraw& draw, std::int64_t i, std::byte* at) {
  const std::int64_t hot =
      whole_between(0, draw.row - 1, random_bits(draw.seed, static_cast<std::uint64_t>(i / draw.row)));
  const bool is_hot = i % draw.row == hot;
  if (is_floating(draw.type)) return write_real(draw.type, is_hot ? draw.low : 0, at);
  write_whole(draw.type, is_hot ? draw.whole_low : 0, at);
}

// Cell i without a look at thin rows, to `at`.
WARPGRADE_HOST_DEVICE inline void write_full_cell(const FieldDraw& draw, std::int64_t i, std::byte* at) {
  using declaration::DrawKind;
  const std::uint64_t bits = random_bits(draw.seed, static_cast<std::uint64_t>(i));
  switch (draw.kind) {
    case DrawKind::kUniform:
      if (is_floating(draw.type)) return write_real(draw.type, real_between(draw.low, draw.high, bits), at);
      return write_whole(draw.type, whole_between(draw.whole_low, draw.whole_high, bits), at);
    case DrawKind::kIntegers:
      return write_whole(draw.type, whole_between(draw.whole_low, draw.whole_high, bits), at);
    case DrawKind::kNormal: {
      const TwoNumbers pair = standard_normals(draw.seed, i / 2);
      const double number = i % 2 == 0 ? pair.first : pair.second;
      return write_real(draw.type, plus(draw.mean, times(draw.deviation, number)), at);
    }
    case DrawKind::kConstant:
      if (is_floating(draw.type)) return write_real(draw.type, draw.low, at);
      return write_whole(draw.type, draw.whole_low, at);
    case DrawKind::kPermutation:
      return write_whole(draw.type, permuted(i, draw.count, draw.seed), at);
    case DrawKind::kSorted:
      return write_sorted(draw, i, at);
    case DrawKind::kDescending:
      return write_sorted(draw, draw.count - 1 - i, at);
    case DrawKind::kOneHot:
      return write_one_hot(draw, i, at);
    case DrawKind::kNpy:
    case DrawKind::kCsr:
      return;  // not drawn at all (case_arrays.cpp)
  }
}

// Cell i of the array whose first element lies at `first`.
WARPGRADE_HOST_DEVICE inline void write_cell(const FieldDraw& draw, std::int64_t i, std::byte* first) {
  std::byte* at = first + static_cast<std::size_t>(i) * draw.stride + draw.offset;
  if (draw.thin_rows > 0) {
    const std::int64_t row = i / draw.row;
    const ThinRow thin = thin_row(row / draw.thin_rows, draw.thin_rows, draw.row, draw.seed);
    if (thin.number == row && !keeps_cell(thin, i, draw.row, draw.seed))
      return is_floating(draw.type) ? write_real(draw.type, 0, at) : write_whole(draw.type, 0, at);
  }
  write_full_cell(draw, i, at);
}

}  // namespace warpgrade::declared
