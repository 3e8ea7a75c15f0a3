// Elements of matrices as they lie in registers, and results as they are rounded. For exec_*.cpp only.
#pragma once
#include "exec/float8.h"
#include "exec/half.h"
#include "exec/lane_loops.h"
#include "program/matrix.h"

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

// f16, e4m3 and e5m2 without a branch, so that loops over them become vectors. The fields of a small float are moved to
// those of a float, whose exponent a multiplication corrects: that is exact, for numbers without a leading one, too.
inline float widened(uint32_t sign, uint32_t magnitude, float unit, bool is_special) {
  const uint32_t bits =
      is_special ? magnitude | 0x7f800000u : bits_as<uint32_t>(bits_as<float>(magnitude) * unit);
  return bits_as<float>(sign | bits);
}
inline float widen_f16(uint32_t bits) {
  const uint32_t magnitude = (bits & 0x7fffu) << 13;
  return widened((bits & 0x8000u) << 16, magnitude, 0x1p112f, magnitude >= 0x7c00u << 13);
}
inline float widen_e4m3(uint32_t bits) {  // no infinities, and one NaN
  const uint32_t magnitude = (bits & 0x7fu) << 20;
  return widened((bits & 0x80u) << 24, magnitude, 0x1p120f, magnitude == 0x7fu << 20);
}

// Element `index` of a register.
template <class Sum>
[[gnu::always_inline]] inline Sum decode_element(uint32_t word, uint32_t index, Element type) {
  switch (type) {
    case Element::f16:
      return Sum(widen_f16(word >> 16 * index));
    case Element::bf16:
      return Sum(to_float(BFloat{uint16_t(word >> 16 * index)}));
    case Element::tf32:  // the low 13 bits do not take part
      return Sum(bits_as<float>(word & 0xffffe000u));
    case Element::e4m3:
      return Sum(widen_e4m3(word >> 8 * index));
    case Element::e5m2:
      return Sum(widen_f16((word >> 8 * index & 255) << 8));
    case Element::s8:
      return Sum(int8_t(word >> 8 * index));
    case Element::u8:
      return Sum(uint8_t(word >> 8 * index));
    case Element::s4:
      return Sum(int32_t(word << (28 - 4 * index)) >> 28);
    case Element::u4:
      return Sum(word >> 4 * index & 15);
    case Element::f32:
      return Sum(bits_as<float>(word));
    default:  // s32, and b1, whose elements are whole words of 32 bits
      return Sum(int32_t(word));
  }
}

inline uint32_t float_bits(double value) {
  return value != value ? 0x7fffffffu : bits_as<uint32_t>(float(value));
}

// To nearest even, once: what a float cannot hold stays in its last bit, which is odd then, so that the second rounding
// sees on which side of a middle the number lies. Half's own conversion from double is a call of a function.
inline uint32_t half_bits(double value) {
  constexpr uint64_t kBeyondFloat = (uint64_t(1) << 29) - 1;
  const uint64_t bits = bits_as<uint64_t>(value);
  const uint64_t odd = (bits & kBeyondFloat) != 0 ? kBeyondFloat + 1 : 0;
  const auto rounded = bits_as<uint16_t>(Half(float(bits_as<double>((bits & ~kBeyondFloat) | odd))));
  return value != value ? 0x7fffu : rounded;
}

inline int32_t integer_result(int64_t value, bool saturate) {
  if (!saturate) return int32_t(uint32_t(uint64_t(value)));
  return int32_t(smaller<int64_t>(larger<int64_t>(value, INT32_MIN), INT32_MAX));
}

}  // namespace
}  // namespace warpgrade::emu::WARPEMU_ISA
