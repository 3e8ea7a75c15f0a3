// fp16 and bf16 as the handlers compute with them: through float, rounded once. For exec_*.cpp only.
#pragma once
#include "exec/lane_loops.h"

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};

// Without a branch and without the compiler's own half type, so that loops become vectors at every level. A small float's
// fields are moved to those of a float, whose exponent a multiplication corrects: that is exact, for subnormal ones, too.
inline float widened(uint32_t sign, uint32_t magnitude, float unit, bool is_special) {
  const uint32_t scaled = bits_as<uint32_t>(bits_as<float>(magnitude) * unit);
  return bits_as<float>(sign | (is_special ? magnitude | 0x7f800000u : scaled));
}
inline float to_float(Half h) {
  const uint32_t magnitude = (h.bits & 0x7fffu) << 13;
  return widened((h.bits & 0x8000u) << 16, magnitude, 0x1p112f, magnitude >= 0x7c00u << 13);
}
inline float to_float(BFloat b) {
  return bits_as<float>(uint32_t(b.bits) << 16);
}

template <class T>
[[gnu::always_inline]] inline T from_float(float f);
// To nearest even. Subnormal results are rounded by an addition, whose last bit is theirs.
template <>
inline Half from_float<Half>(float f) {
  constexpr uint32_t kLeastNormal = 0x38800000, kInfinity = 0x7c00, kBias = 112u << 10, kOne = 0x3f000000;
  const uint32_t u = bits_as<uint32_t>(f), magnitude = u & 0x7fffffffu;
  const uint32_t normal = ((magnitude + 0xfff + (magnitude >> 13 & 1)) >> 13) - kBias;
  const uint32_t subnormal = bits_as<uint32_t>(bits_as<float>(magnitude) + 0.5f) - kOne;
  const uint32_t finite = magnitude < kLeastNormal ? subnormal : normal < kInfinity ? normal : kInfinity;
  const uint32_t number = (u >> 16 & 0x8000u) | finite;
  return {uint16_t(magnitude > 0x7f800000u ? 0x7fffu : number)};
}
template <>
inline BFloat from_float<BFloat>(float f) {
  const uint32_t u = bits_as<uint32_t>(f);
  const uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
  return {uint16_t(f != f ? 0x7fffu : rounded)};
}

// The same of a double, rounded once: what a float cannot hold shows in its last bit, which is odd then, so that the
// second rounding sees on which side of a middle the number lies. Below the normal floats that bit is too coarse for
// bfloats, which an addition rounds there; halves are zero there.
template <class T>
[[gnu::always_inline]] inline T from_double(double v) {
  constexpr uint64_t kBeyondFloat = (uint64_t(1) << 29) - 1, kSign = uint64_t(1) << 63;
  const uint64_t bits = bits_as<uint64_t>(v);
  const uint64_t last = (bits & kBeyondFloat) != 0 ? kBeyondFloat + 1 : 0;
  double odd = bits_as<double>((bits & ~kBeyondFloat) | last);
  if constexpr (__is_same(T, BFloat)) {
    constexpr double kMagic = 0x1.8p-81;  // its last bit is the last of a bfloat
    const uint64_t rounded = bits_as<uint64_t>((v + kMagic) - kMagic) | (bits & kSign);
    odd = (bits & ~kSign) < uint64_t(1023 - 126) << 52 ? bits_as<double>(rounded) : odd;
  }
  return from_float<T>(float(odd));
}

}  // namespace
}  // namespace warpgrade::emu::WARPEMU_ISA
