// Operations on parts of a register: pairs of 16-bit integers, the SIMD video instructions, dot products,
// comparisons of halves, 8-bit floats; and the bit operations that have no lane loop of their own.
#include "exec/float8.h"
#include "program/packed_modes.h"

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

int32_t part_of(uint32_t word, uint32_t index, uint32_t bits, bool is_signed) {
  const uint32_t field = word >> index * bits & ((1u << bits) - 1);
  const int32_t extended = int32_t(field << (32 - bits)) >> (32 - bits);
  return is_signed ? extended : int32_t(field);
}

// Which of less, equal and greater a comparison is true for.
uint32_t accepted(uint32_t comparison) {
  constexpr uint32_t kLess = 1, kEqual = 2, kGreater = 4;
  constexpr uint32_t kAccepted[] = {kEqual, kLess | kGreater, kLess, kLess | kEqual, kGreater};
  return comparison < 5 ? kAccepted[comparison] : kGreater | kEqual;
}

template <PackedOperation kOperation>
[[gnu::always_inline]] inline int32_t combine(int32_t a, int32_t b, uint32_t is_accepted) {
  switch (kOperation) {
    case PackedOperation::add:
      return a + b;
    case PackedOperation::subtract:
      return a - b;
    case PackedOperation::average:
      return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
    case PackedOperation::absolute_difference:
      return a < b ? b - a : a - b;
    case PackedOperation::minimum:
      return smaller(a, b);
    case PackedOperation::maximum:
      return larger(a, b);
    case PackedOperation::compare:
      break;
  }
  return int32_t((is_accepted >> (a < b ? 0 : a == b ? 1 : 2)) & 1);
}

// i.bytes: of a part. With kPackedSum the parts' results are added to c, which merges nothing otherwise.
template <PackedOperation kOperation, uint32_t kBits>
void packed_parts(Warp& w, const Inst& i) {
  const uint32_t* a = lanes<uint32_t>(w, i.a);
  const uint32_t* b = lanes<uint32_t>(w, i.b);
  const bool sums = i.flags & kPackedSum, is_signed = i.flags & kPackedSignedResult;
  const uint32_t* c = sums ? lanes<uint32_t>(w, i.c) : a;
  const bool signed_a = i.flags & kPackedSignedA, signed_b = i.flags & kPackedSignedB;
  const bool saturates = i.flags & kPackedSaturate;
  const int32_t low = is_signed ? -(1 << (kBits - 1)) : 0, high = (1 << (is_signed ? kBits - 1 : kBits)) - 1;
  const int32_t least = saturates ? low : INT32_MIN, most = saturates ? high : INT32_MAX;
  const int32_t floor = i.flags & kPackedRelu ? 0 : INT32_MIN;
  const uint32_t is_accepted = accepted(uint32_t(i.imm));
  assign<uint32_t>(w, i.d, [=](uint32_t l) {
    uint32_t sum = c[l], merged = 0;
    for (uint32_t k = 0; k < 32 / kBits; ++k) {
      int32_t part = combine<kOperation>(part_of(a[l], k, kBits, signed_a), part_of(b[l], k, kBits, signed_b),
                                         is_accepted);
      part = larger(smaller(larger(part, least), most), floor);
      const uint32_t field = uint32_t(part) & ((1u << kBits) - 1);
      sum += uint32_t(part_of(field, 0, kBits, is_signed));
      merged |= field << k * kBits;
    }
    return sums ? sum : merged;
  });
}
template <PackedOperation kOperation>
void packed_operation(Warp& w, const Inst& i) {
  i.bytes == 1 ? packed_parts<kOperation, 8>(w, i) : packed_parts<kOperation, 16>(w, i);
}
void packed(Warp& w, const Inst& i) {
  switch (PackedOperation(i.variant)) {
    case PackedOperation::add:
      return packed_operation<PackedOperation::add>(w, i);
    case PackedOperation::subtract:
      return packed_operation<PackedOperation::subtract>(w, i);
    case PackedOperation::average:
      return packed_operation<PackedOperation::average>(w, i);
    case PackedOperation::absolute_difference:
      return packed_operation<PackedOperation::absolute_difference>(w, i);
    case PackedOperation::minimum:
      return packed_operation<PackedOperation::minimum>(w, i);
    case PackedOperation::maximum:
      return packed_operation<PackedOperation::maximum>(w, i);
    case PackedOperation::compare:
      return packed_operation<PackedOperation::compare>(w, i);
  }
}

// min.s32.relu and max.s32.relu
template <bool kMinimum>
void clamped_extremum(Warp& w, const Inst& i) {
  const int32_t* a = lanes<int32_t>(w, i.a);
  const int32_t* b = lanes<int32_t>(w, i.b);
  assign<int32_t>(w, i.d,
                  [=](uint32_t l) { return larger(kMinimum ? smaller(a[l], b[l]) : larger(a[l], b[l]), 0); });
}

// dp2a: 16-bit parts of a times the lower (variant 0) or upper two bytes of b.
void dot2(Warp& w, const Inst& i) {
  const uint32_t* a = lanes<uint32_t>(w, i.a);
  const uint32_t* b = lanes<uint32_t>(w, i.b);
  const uint32_t* c = lanes<uint32_t>(w, i.c);
  assign<uint32_t>(w, i.d, [&](uint32_t l) {
    uint32_t sum = c[l];
    for (uint32_t k = 0; k < 2; ++k) {
      sum += uint32_t(part_of(a[l], k, 16, i.flags & kPackedSignedA)) *
             uint32_t(part_of(b[l], 2 * i.variant + k, 8, i.flags & kPackedSignedB));
    }
    return sum;
  });
}

// The place of the |offset|-th set bit of mask from base on: upwards if offset > 0, downwards if < 0.
uint32_t nth_set_bit(uint32_t mask, uint32_t base, int32_t offset) {
  if (offset == 0) return base < 32 && (mask >> base & 1) ? base : ~0u;
  int64_t left = offset > 0 ? int64_t(offset) : -int64_t(offset);
  for (int64_t at = base; at >= 0 && at<32; at += offset> 0 ? 1 : -1) {
    if ((mask >> at & 1) && --left == 0) return uint32_t(at);
  }
  return ~0u;
}
void find_nth_set(Warp& w, const Inst& i) {
  const uint32_t* a = lanes<uint32_t>(w, i.a);
  const uint32_t* b = lanes<uint32_t>(w, i.b);
  const int32_t* c = lanes<int32_t>(w, i.c);
  assign<uint32_t>(w, i.d, [=](uint32_t l) {
    // The count without a magnitude: a GPU's loop ends at once.
    if (c[l] == INT32_MIN) return 0u;
    return nth_set_bit(a[l], b[l], c[l]);
  });
}

// szext: the low b bits of a, extended by sign (flags) or zeros; variant 1: b wraps at 32.
void extend_field(Warp& w, const Inst& i) {
  const uint32_t* a = lanes<uint32_t>(w, i.a);
  const uint32_t* b = lanes<uint32_t>(w, i.b);
  const bool wraps = i.variant != 0, is_signed = i.flags != 0;
  assign<uint32_t>(w, i.d, [=](uint32_t l) {
    const uint32_t bits = wraps ? b[l] & 31 : smaller(b[l], 32u);
    if (bits == 0) return 0u;
    const uint32_t shifted = a[l] << (32 - bits);
    return is_signed ? uint32_t(int32_t(shifted) >> (32 - bits)) : shifted >> (32 - bits);
  });
}

bool compare_floats(uint32_t comparison, float a, float b) {
  const bool unordered = a != a || b != b;
  switch (comparison) {
    case 0:
    case 6:
      return a == b || (comparison == 6 && unordered);
    case 1:
    case 7:
      return a < b || a > b || (comparison == 7 && unordered);
    case 2:
    case 8:
      return a < b || (comparison == 8 && unordered);
    case 3:
    case 9:
      return a <= b || (comparison == 9 && unordered);
    case 4:
    case 10:
      return a > b || (comparison == 10 && unordered);
    case 5:
    case 11:
      return a >= b || (comparison == 11 && unordered);
    case 12:
      return !unordered;
    default:
      return unordered;
  }
}

// mov.b16 {x, y}, z and back, of bytes that lie in 16-bit registers.
void pack_bytes(Warp& w, const Inst& i) {
  const uint16_t* low = lanes<uint16_t>(w, i.vec[0]);
  const uint16_t* high = lanes<uint16_t>(w, i.vec[1]);
  assign<uint16_t>(w, i.d, [=](uint32_t l) { return uint16_t((low[l] & 255) | high[l] << 8); });
}
void unpack_bytes(Warp& w, const Inst& i) {
  const uint16_t* a = lanes<uint16_t>(w, i.a);
  assign<uint16_t>(w, i.vec[0], [=](uint32_t l) { return uint16_t(a[l] & 255); });
  assign<uint16_t>(w, i.vec[1], [=](uint32_t l) { return uint16_t(a[l] >> 8); });
}

// How a third predicate joins: as in exec_logic.cpp.
bool join(const Inst& i, bool value, bool third) {
  return i.variant == 0   ? value
         : i.variant == 1 ? value && third
         : i.variant == 2 ? value || third
                          : value != third;
}

// Comparison i.imm of vec_count halves a lane.
template <class T>
bool compare_part(Warp& w, const Inst& i, uint32_t lane, uint32_t part) {
  const T* a = reinterpret_cast<const T*>(w.regs + i.a);
  const T* b = reinterpret_cast<const T*>(w.regs + i.b);
  const uint32_t at = lane * i.vec_count + part;
  const bool third = i.variant != 0 && ((predicate(w, i.c) ^ (i.flags ? ~0u : 0u)) >> lane & 1) != 0;
  return join(i, compare_floats(uint32_t(i.imm), to_float(a[at]), to_float(b[at])), third);
}

// set with a result in each half, or in a register of reg_bytes; vec[0]: the value for true.
template <class T>
void set_halves(Warp& w, const Inst& i) {
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = uint32_t(__builtin_ctz(m));
    uint32_t result = 0;
    for (uint32_t k = 0; k < i.vec_count; ++k) {
      if (compare_part<T>(w, i, l, k)) result |= i.vec[0] << 16 * k;
    }
    __builtin_memcpy(w.regs + i.d + l * i.reg_bytes, &result, i.reg_bytes);
  }
}

// setp p|q: the results of the lower and the upper half.
template <class T>
void set_half_predicates(Warp& w, const Inst& i) {
  uint32_t result[2] = {0, 0};
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = uint32_t(__builtin_ctz(m));
    for (uint32_t k = 0; k < 2; ++k) result[k] |= uint32_t(compare_part<T>(w, i, l, k)) << l;
  }
  if (i.d != kNoSlot) write_predicate(w, i.d, result[0]);
  if (i.e != kNoSlot) write_predicate(w, i.e, result[1]);
}

using Narrow = uint8_t (*)(float);
using Widen = float (*)(uint8_t);

float relu(float a, bool is_relu) {
  return is_relu && a < 0 ? 0.0f : a;
}

// The first source goes into the upper byte.
template <Narrow kNarrow>
void narrow_floats(Warp& w, const Inst& i) {
  const float* a = lanes<float>(w, i.a);
  const float* b = lanes<float>(w, i.b);
  const bool is_relu = i.flags & kPackedRelu;
  assign<uint16_t>(w, i.d, [=](uint32_t l) {
    return uint16_t(kNarrow(relu(a[l], is_relu)) << 8 | kNarrow(relu(b[l], is_relu)));
  });
}
template <Narrow kNarrow>
void narrow_halves(Warp& w, const Inst& i) {
  const uint32_t* a = lanes<uint32_t>(w, i.a);
  const bool is_relu = i.flags & kPackedRelu;
  assign<uint16_t>(w, i.d, [=](uint32_t l) {
    const float low = to_float(Half{uint16_t(a[l])}), high = to_float(Half{uint16_t(a[l] >> 16)});
    return uint16_t(kNarrow(relu(high, is_relu)) << 8 | kNarrow(relu(low, is_relu)));
  });
}
template <Widen kWiden>
void widen_to_halves(Warp& w, const Inst& i) {
  const uint16_t* a = lanes<uint16_t>(w, i.a);
  const bool is_relu = i.flags & kPackedRelu;
  assign<uint32_t>(w, i.d, [=](uint32_t l) {
    const float low = kWiden(uint8_t(a[l])), high = kWiden(uint8_t(a[l] >> 8));
    return from_float<Half>(relu(low, is_relu)).bits | uint32_t(from_float<Half>(relu(high, is_relu)).bits)
                                                           << 16;
  });
}

}  // namespace

void add_packed_handlers(HandlerTable& t) {
  t.add(packed, "packed");
  t.add(clamped_extremum<true>, "min.relu", "s32");
  t.add(clamped_extremum<false>, "max.relu", "s32");
  t.add(dot2, "dp2a");
  t.add(find_nth_set, "fns");
  t.add(extend_field, "szext");
  t.add(pack_bytes, "pack.2x8");
  t.add(unpack_bytes, "unpack.2x8");
  t.add(set_halves<Half>, "set", "halves", "f16");
  t.add(set_halves<BFloat>, "set", "halves", "bf16");
  t.add(set_half_predicates<Half>, "setp", "halves", "f16");
  t.add(set_half_predicates<BFloat>, "setp", "halves", "bf16");
  t.add(narrow_floats<e4m3_of_float>, "cvt", "e4m3x2", "f32");
  t.add(narrow_floats<e5m2_of_float>, "cvt", "e5m2x2", "f32");
  t.add(narrow_halves<e4m3_of_float>, "cvt", "e4m3x2", "f16x2");
  t.add(narrow_halves<e5m2_of_float>, "cvt", "e5m2x2", "f16x2");
  t.add(widen_to_halves<float_of_e4m3>, "cvt", "f16x2", "e4m3x2");
  t.add(widen_to_halves<float_of_e5m2>, "cvt", "f16x2", "e5m2x2");
}

}  // namespace warpgrade::emu::WARPEMU_ISA
