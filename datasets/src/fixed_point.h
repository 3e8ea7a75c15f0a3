// Logarithm and exponential in integers, for parameters that must not depend on a machine's libm.
#pragma once

#include <array>

#include "counter_random.h"

namespace warpgrade::datasets {

using u128 = unsigned __int128;

// log2(x) with 32 fractional bits, x >= 1, by repeated squaring.
inline u64 log2_fixed(u64 x) {
  const int whole = 63 - __builtin_clzll(x);
  u64 mantissa = x << (63 - whole);  // [1, 2) with 63 fractional bits
  u64 result = static_cast<u64>(whole) << 32;
  for (int bit = 31; bit >= 0; --bit) {
    const u128 square = u128(mantissa) * mantissa;  // 126 fractional bits
    if ((square >> 127) != 0) {
      result |= u64{1} << bit;
      mantissa = static_cast<u64>(square >> 64);
    } else {
      mantissa = static_cast<u64>(square >> 63);
    }
  }
  return result;
}

inline u64 integer_sqrt(u128 value) {
  u64 root = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const u64 candidate = root | (u64{1} << bit);
    if (u128(candidate) * candidate <= value) root = candidate;
  }
  return root;
}

// 2^(-y) with 62 fractional bits, y with 32 fractional bits.
class NegativeExp2 {
 public:
  NegativeExp2() {
    u64 factor = u64{1} << 61;  // 2^-1
    for (u64& entry : factors_) {
      // 2^-(1/2), 2^-(1/4), ...: each the square root of the one before.
      factor = integer_sqrt(u128(factor) << 62);
      entry = factor;
    }
  }
  u64 operator()(u64 y) const {
    const u64 whole = y >> 32;
    if (whole >= 62) return 0;
    u64 value = u64{1} << 62;
    for (int i = 0; i < 32; ++i) {
      if ((y >> (31 - i) & 1) != 0) value = static_cast<u64>((u128(value) * factors_[i]) >> 62);
    }
    return value >> whole;
  }

 private:
  std::array<u64, 32> factors_;
};

}  // namespace warpgrade::datasets
