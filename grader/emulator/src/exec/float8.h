// The 8-bit floats e4m3 (no infinities, largest 448) and e5m2 (an f16 cut short). For exec_*.cpp only.
#pragma once
#include "exec/half.h"

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

inline float float_of_e5m2(uint8_t bits) {
  return to_float(Half{uint16_t(bits << 8)});
}

inline float float_of_e4m3(uint8_t bits) {
  const uint32_t magnitude = (bits & 0x7fu) << 20;
  return widened((bits & 0x80u) << 24, magnitude, 0x1p120f, magnitude == 0x7fu << 20);
}

// To nearest even, clamped to the largest finite value, as cvt.satfinite does. kMantissa: stored bits of the
// significand; kLeast: exponent of the least normal number; kLargest and kNan: bit patterns.
template <int kMantissa, int kLeast, uint8_t kLargest, uint8_t kNan>
uint8_t narrow_to_float8(float f) {
  constexpr uint32_t kFar = uint32_t(127 + 17) << 23;  // beyond every largest value
  const uint32_t u = bits_as<uint32_t>(f), sign = u >> 24 & 0x80, unsigned_bits = u & 0x7fffffffu;
  const uint32_t magnitude = unsigned_bits < kFar ? unsigned_bits : kFar;
  const int exponent = int(magnitude >> 23) - 127, above = exponent < kLeast ? 0 : exponent - kLeast;
  // The spacing of representable values around f is 2^(kLeast + above - kMantissa).
  const float per_unit = bits_as<float>(uint32_t(127 + kMantissa - kLeast - above) << 23);
  const auto steps = uint32_t(int32_t(__builtin_nearbyintf(bits_as<float>(magnitude) * per_unit)));
  const uint32_t bits = steps + (uint32_t(above) << kMantissa);  // a carry moves into the exponent
  const uint32_t number = sign | (bits > kLargest ? kLargest : bits);
  return uint8_t(unsigned_bits > 0x7f800000u ? kNan : number);
}

inline uint8_t e4m3_of_float(float f) {
  return narrow_to_float8<3, -6, 0x7e, 0x7f>(f);
}
inline uint8_t e5m2_of_float(float f) {
  return narrow_to_float8<2, -14, 0x7b, 0x7f>(f);
}

}  // namespace
}  // namespace warpgrade::emu::WARPEMU_ISA
