// Counter-based random values: cell i of a buffer depends on (seed, i) alone, so host and GPU fill and
// check the same buffer without keeping a copy. The mixer is applied twice.
#pragma once

#include <cstdint>

#include "warpgrade/datasets/mix_bits.h"

namespace warpgrade {

WARPGRADE_HOST_DEVICE inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  return mix_bits(mix_bits(seed + (index + 1) * 0x9E3779B97F4A7C15ull) ^ seed);
}

// ---- 64 random bits to a value; each uses the upper 32 ----

// [-1, 1), zero mean, full 24-bit significands.
WARPGRADE_HOST_DEVICE inline float uniform_value(std::uint64_t bits) {
  return static_cast<float>(static_cast<std::int32_t>(bits >> 32)) * 0x1p-31f;
}

// [0, 1): values of one sign, whose sums grow with every term.
WARPGRADE_HOST_DEVICE inline float positive_value(std::uint64_t bits) {
  return static_cast<float>(bits >> 40) * 0x1p-24f;
}

// -1 or 1.
WARPGRADE_HOST_DEVICE inline float unit_value(std::uint64_t bits) {
  return (bits >> 63) != 0 ? 1.0f : -1.0f;
}

// How many bits an odd integer of odd_value has: two more than fit into any 16-bit format.
inline constexpr int kOddBits = 18;
// What its unit, the integer 1, is worth: values lie in (1/2, 1), as those of uniform_value do.
inline constexpr double kOddUnit = 0x1p-18;

// With either sign, an odd integer of exactly 18 bits, in units of 2^-18: (1/2, 1). Its first and its last
// bit are set, so that no format of fewer significant bits holds it under any power of two as scale. Any sum
// of 64 of them, in any order, is exact in fp32.
WARPGRADE_HOST_DEVICE inline float odd_value(std::uint64_t bits) {
  const int magnitude = (1 << (kOddBits - 1)) + static_cast<int>((bits >> 40) & 0xFFFF) * 2 + 1;
  return static_cast<float>((bits >> 63) != 0 ? magnitude : -magnitude) * static_cast<float>(kOddUnit);
}

}  // namespace warpgrade
