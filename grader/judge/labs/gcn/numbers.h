// The numbers that lab gcn is judged on: number i of a matrix is a function of (kind, seed, i), the same on
// host and GPU. Scales are powers of two, so that nothing is rounded on the way.
#pragma once

#include <cstdint>

#include "judge/measure/random.h"

namespace warpgrade::gcn {

enum class Numbers {
  kUniform,    // [-1, 1), full 53-bit significands
  kSmall,      // 2^-480 times that: products near 2^-960
  kLarge,      // 2^480 times that
  kTiny,       // 2^-960 times that
  kHuge,       // 2^960 times that
  kRowScales,  // each row at a scale of its own from 2^-300 to 2^300
  kModest,     // [-4, 4): where exp neither overflows nor vanishes
  kShifted,    // [-800, 800) around a place of the row's own in [-2^20, 2^20): exp(z) overflows or vanishes
  kExtreme,    // |z| < 8e307: twice that still is a number
  kTies,       // all numbers of a row are equal
};

// [-1, 1) in steps of 2^-52.
WARPGRADE_HOST_DEVICE inline double uniform_double(std::uint64_t bits) {
  return static_cast<double>(static_cast<std::int64_t>(bits) >> 11) * 0x1p-52;
}

WARPGRADE_HOST_DEVICE inline double power_of_two(int exponent) {
  double power = 1;
  const double factor = exponent < 0 ? 0.5 : 2.0;
  for (int i = exponent < 0 ? -exponent : exponent; i > 0; --i) power *= factor;
  return power;
}

// `columns`: the matrix's, where rows differ.
WARPGRADE_HOST_DEVICE inline double number_at(Numbers kind, std::uint64_t seed, std::uint64_t i,
                                              std::uint64_t columns) {
  const double uniform = uniform_double(random_bits(seed, i));
  const std::uint64_t row = random_bits(~seed, i / columns);
  switch (kind) {
    case Numbers::kSmall:
      return uniform * 0x1p-480;
    case Numbers::kLarge:
      return uniform * 0x1p480;
    case Numbers::kTiny:
      return uniform * 0x1p-960;
    case Numbers::kHuge:
      return uniform * 0x1p960;
    case Numbers::kRowScales:
      return uniform * power_of_two(static_cast<int>(row % 601) - 300);
    case Numbers::kModest:
      return uniform * 4;
    case Numbers::kShifted:
      // Multiples of 2^-11 below 2^21: the sum is exact, whatever its order.
      return static_cast<double>(static_cast<std::int64_t>(uniform * 800 * 2048)) / 2048 +
             static_cast<double>(static_cast<std::int64_t>(row) >> 43);
    case Numbers::kExtreme:
      return uniform * 8e307;
    case Numbers::kTies:
      return uniform_double(row) * 1000;
    case Numbers::kUniform:
      break;
  }
  return uniform;
}

}  // namespace warpgrade::gcn
