// The 8-bit floats e4m3 (no infinities, largest 448) and e5m2 (an f16 cut short). For exec_*.cpp only.
#pragma once
#include "exec/half.h"

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

inline float float_of_e5m2(uint8_t bits) {
  return to_float(bits_as<Half>(uint16_t(bits << 8)));
}

inline float float_of_e4m3(uint8_t bits) {
  const uint32_t magnitude = bits & 0x7f;
  if (magnitude == 0x7f) return __builtin_nanf("");
  const uint32_t exponent = magnitude >> 3, mantissa = magnitude & 7;
  const float value =
      exponent == 0 ? float(mantissa) * 0x1p-9f : bits_as<float>((exponent + 120) << 23 | mantissa << 20);
  return (bits & 0x80) ? -value : value;
}

// To nearest even, clamped to the largest finite value, as cvt.satfinite does. kMantissa: stored bits of the
// significand; kLeast: exponent of the least normal number; kLargest and kNan: bit patterns.
template <int kMantissa, int kLeast, uint8_t kLargest, uint8_t kNan>
uint8_t narrow_to_float8(float f) {
  if (f != f) return kNan;
  const auto sign = uint8_t(bits_as<uint32_t>(f) >> 24 & 0x80);
  const float magnitude = __builtin_fabsf(f);
  const int exponent = int(bits_as<uint32_t>(magnitude) >> 23) - 127;
  // The spacing of representable values around f is 2^ulp.
  const int ulp = (exponent < kLeast ? kLeast : exponent) - kMantissa;
  if (exponent > 16) return uint8_t(sign | kLargest);
  const float unit = bits_as<float>(uint32_t(ulp + 127) << 23);
  const auto steps = uint32_t(__builtin_nearbyintf(magnitude / unit));
  const int bias_steps = exponent < kLeast ? 0 : (exponent - kLeast) << kMantissa;
  const uint32_t bits = steps + uint32_t(bias_steps);  // a carry moves into the exponent
  return uint8_t(sign | (bits > kLargest ? kLargest : bits));
}

inline uint8_t e4m3_of_float(float f) {
  return narrow_to_float8<3, -6, 0x7e, 0x7f>(f);
}
inline uint8_t e5m2_of_float(float f) {
  return narrow_to_float8<2, -14, 0x7b, 0x7f>(f);
}

}  // namespace
}  // namespace warpgrade::emu::WARPEMU_ISA
