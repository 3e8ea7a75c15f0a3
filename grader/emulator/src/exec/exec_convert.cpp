// cvt between integers, floats and halves. Inst::variant is the Rounding, Inst::flags the kCvt bits; bytes
// and reg_bytes are the widths of source and destination registers, which may be wider than the types.
#include "exec/half.h"
#include "program/convert_modes.h"

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

template <class T>
constexpr bool kIsFloat = __is_same(T, float) || __is_same(T, double);
template <class T>
constexpr bool kIsHalf = __is_same(T, Half) || __is_same(T, BFloat);

double round_integral(double v, Rounding mode) {
  switch (mode) {
    case Rounding::zero:
      return __builtin_trunc(v);
    case Rounding::down:
      return __builtin_floor(v);
    case Rounding::up:
      return __builtin_ceil(v);
    case Rounding::nearest:
      break;
  }
  return __builtin_nearbyint(v);
}

float flush(float a) {
  return __builtin_fabsf(a) < 0x1p-126f ? __builtin_copysignf(0.0f, a) : a;
}

// A float value into an integer type: rounded, clamped to the range. NaN becomes what it does on the
// hardware: the highest bit alone for results of 64 bits and for sources of double precision, 0 otherwise.
template <class D>
D to_integer(double v, Rounding mode, bool from_double) {
  constexpr unsigned kBits = 8 * sizeof(D);
  constexpr bool kSigned = Traits<D>::is_signed;
  if (v != v) return kBits == 64 || from_double ? D(uint64_t(1) << (kBits - 1)) : D(0);
  v = round_integral(v, mode);
  const double limit = double(uint64_t(1) << (kBits - 1)) * (kSigned ? 1.0 : 2.0);
  const D highest = kSigned ? D((uint64_t(1) << (kBits - 1)) - 1) : D(~uint64_t(0));
  const D lowest = kSigned ? D(uint64_t(1) << (kBits - 1)) : D(0);
  if (v >= limit) return highest;
  if (v < (kSigned ? -limit : 0.0)) return lowest;
  return D(v);
}

template <class D, class S>
D integer_to_integer(S s, bool saturate) {
  if (!saturate) return D(s);
  constexpr unsigned kBits = 8 * sizeof(D);
  const __int128 low = Traits<D>::is_signed ? -(__int128(1) << (kBits - 1)) : 0;
  const __int128 high = (__int128(1) << (Traits<D>::is_signed ? kBits - 1 : kBits)) - 1;
  const __int128 v = s;
  return D(v < low ? low : v > high ? high : v);
}

template <class D, class S>
D float_to_float(S s, const Inst& i) {
  D d;
  if (i.flags & kCvtToIntegral) {
    d = D(round_integral(double(s), Rounding(i.variant)));
  } else {
    d = D(s);
  }
  if (i.flags & kCvtSaturate) d = d > 0 ? (d < 1 ? d : D(1)) : D(0);
  if constexpr (sizeof(D) == sizeof(float) && sizeof(S) == sizeof(float)) {
    if (d != d) d = bits_as<float>(0x7fffffffu);
  }
  return d;
}

float to_wide(Half h) {
  return to_float(h);
}
float to_wide(BFloat b) {
  return to_float(b);
}

// The neighbour that the mode asks for, of a value that was rounded to nearest.
template <class D>
D redirect(D nearest, double exact, Rounding mode) {
  const double rounded = double(to_wide(nearest));
  if (mode == Rounding::nearest || exact != exact || rounded == exact) return nearest;
  const bool too_high = rounded > exact, negative = __builtin_signbit(exact);
  const bool grow =
      mode == Rounding::up ? !negative && !too_high : mode == Rounding::down && negative && too_high;
  const bool shrink = mode == Rounding::zero ? too_high != negative
                      : mode == Rounding::up ? negative && !too_high
                                             : !negative && too_high;
  const auto bits = bits_as<uint16_t>(nearest);
  return bits_as<D>(uint16_t(grow ? bits + 1 : shrink ? bits - 1 : bits));
}

// The exact value is a double's: floats are, integers that are not lie far beyond the greatest half.
template <class D>
D narrow_to_half(double v, const Inst& i) {
  if ((i.flags & kCvtRelu) && !(v > 0)) v = v != v ? v : 0.0;
  if (i.flags & kCvtSaturate) v = v > 0 ? (v < 1 ? v : 1.0) : 0.0;
  if (i.flags & kCvtToIntegral) v = round_integral(v, Rounding(i.variant));
  if (v != v) return bits_as<D>(uint16_t(0x7fff));
  const D nearest = __is_same(D, Half) ? from_double<D>(v) : from_float<D>(float(v));
  return redirect(nearest, v, (i.flags & kCvtToIntegral) ? Rounding::nearest : Rounding(i.variant));
}

template <class D, class S>
D convert_one(S s, const Inst& i) {
  if constexpr (kIsHalf<S> && kIsHalf<D>) {
    return narrow_to_half<D>(double(to_float(s)), i);
  } else if constexpr (kIsHalf<S>) {
    return convert_one<D, float>(to_float(s), i);
  } else if constexpr (kIsHalf<D>) {
    if constexpr (sizeof(S) == sizeof(double) && kIsFloat<S> && __is_same(D, Half)) {
      if (s != s) {  // its payload stays
        const auto bits = bits_as<uint64_t>(s);
        return D{uint16_t((bits >> 48 & 0x8000) | 0x7e00 | (bits >> 42 & 0x3ff))};
      }
    }
    return narrow_to_half<D>(double(s), i);
  } else if constexpr (kIsFloat<S> && kIsFloat<D>) {
    return float_to_float<D, S>(s, i);
  } else if constexpr (kIsFloat<S>) {
    return to_integer<D>(double(s), Rounding(i.variant), sizeof(S) == sizeof(double));
  } else if constexpr (kIsFloat<D>) {
    const D d = D(s);
    return (i.flags & kCvtSaturate) ? (d > 0 ? (d < 1 ? d : D(1)) : D(0)) : d;
  } else {
    return integer_to_integer<D, S>(s, (i.flags & kCvtSaturate) != 0);
  }
}

void to_tf32(Warp& w, const Inst& i) {
  const uint32_t* a = lanes<uint32_t>(w, i.a);
  assign<uint32_t>(w, i.d, [=](uint32_t l) {
    if ((a[l] & 0x7fffffffu) > 0x7f800000u) return 0x7fffe000u;
    const bool finite = (a[l] & 0x7f800000u) != 0x7f800000u;
    return (finite ? a[l] + 0x1000u : a[l]) & ~0x1fffu;
  });
}

template <class T>
T load_register(const uint8_t* at) {
  T value;
  __builtin_memcpy(&value, at, sizeof value);
  return value;
}

// Integers extend to the register's width by their own sign.
template <class D>
void store_register(uint8_t* at, unsigned width, D value) {
  uint64_t wide = 0;
  if constexpr (kIsFloat<D> || kIsHalf<D>) {
    __builtin_memcpy(&wide, &value, sizeof value);
  } else {
    wide = uint64_t(int64_t(value));
    if (!Traits<D>::is_signed) wide = uint64_t(value);
  }
  __builtin_memcpy(at, &wide, width < 8 ? width : 8);
}

template <class D, class S>
void convert_general(Warp& w, const Inst& i) {
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = uint32_t(__builtin_ctz(m));
    S s = load_register<S>(w.regs + i.a + l * i.bytes);
    if constexpr (__is_same(S, float)) s = (i.flags & kCvtFlush) ? flush(s) : s;
    D d = convert_one<D, S>(s, i);
    if constexpr (__is_same(D, float)) d = (i.flags & kCvtFlush) ? flush(d) : d;
    store_register<D>(w.regs + i.d + l * i.reg_bytes, i.reg_bytes, d);
  }
}

// Between a half and a float, rounded to nearest even.
template <class D, class S>
void convert_halves(Warp& w, const Inst& i) {
  if constexpr (kIsHalf<S>) {
    const uint16_t* a = lanes<uint16_t>(w, i.a);
    assign<float>(w, i.d, [=](uint32_t l) {
      const float f = to_float(S{a[l]});
      return f != f ? bits_as<float>(0x7fffffffu) : f;
    });
  } else {
    const float* a = lanes<float>(w, i.a);
    assign<uint16_t>(w, i.d, [=](uint32_t l) { return from_float<D>(a[l]).bits; });
  }
}

template <class D, class S>
void convert(Warp& w, const Inst& i) {
  constexpr bool kBothFloat = kIsFloat<S> && kIsFloat<D>;
  constexpr bool kFromInteger = !kIsFloat<S> && !kIsHalf<S> && !kIsHalf<D>;
  if constexpr ((kBothFloat || kFromInteger) && sizeof(S) > 1 && sizeof(D) > 1) {
    if (i.flags == 0 && i.bytes == sizeof(S) && i.reg_bytes == sizeof(D)) {
      const S* a = lanes<S>(w, i.a);
      assign<D>(w, i.d, [=](uint32_t l) { return D(a[l]); });
      return;
    }
  }
  if constexpr ((kIsHalf<S> && __is_same(D, float)) || (kIsHalf<D> && __is_same(S, float))) {
    if (i.flags == 0 && i.bytes == sizeof(S) && i.reg_bytes == sizeof(D) &&
        (kIsHalf<S> || Rounding(i.variant) == Rounding::nearest)) {
      convert_halves<D, S>(w, i);
      return;
    }
  }
  convert_general<D, S>(w, i);
}

// Two floats into a pair: the first source goes into the upper half.
template <class D>
void convert_pair(Warp& w, const Inst& i) {
  const float* a = lanes<float>(w, i.a);
  const float* b = lanes<float>(w, i.b);
  uint32_t* d = lanes<uint32_t>(w, i.d);
  if (i.flags == 0 && Rounding(i.variant) == Rounding::nearest) {
    assign<uint32_t>(w, i.d, [=](uint32_t l) {
      return uint32_t(from_float<D>(a[l]).bits) << 16 | from_float<D>(b[l]).bits;
    });
    return;
  }
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(w.mask >> l & 1)) continue;
    const uint32_t high = bits_as<uint16_t>(narrow_to_half<D>(a[l], i));
    d[l] = high << 16 | bits_as<uint16_t>(narrow_to_half<D>(b[l], i));
  }
}

template <class D>
void add_targets(HandlerTable& t, const char* to) {
  t.add(convert<D, uint8_t>, "cvt", to, "u8");
  t.add(convert<D, int8_t>, "cvt", to, "s8");
  t.add(convert<D, uint16_t>, "cvt", to, "u16");
  t.add(convert<D, int16_t>, "cvt", to, "s16");
  t.add(convert<D, uint32_t>, "cvt", to, "u32");
  t.add(convert<D, int32_t>, "cvt", to, "s32");
  t.add(convert<D, uint64_t>, "cvt", to, "u64");
  t.add(convert<D, int64_t>, "cvt", to, "s64");
  t.add(convert<D, Half>, "cvt", to, "f16");
  t.add(convert<D, BFloat>, "cvt", to, "bf16");
  t.add(convert<D, float>, "cvt", to, "f32");
  t.add(convert<D, double>, "cvt", to, "f64");
}

}  // namespace

void add_convert_handlers(HandlerTable& t) {
  t.add(to_tf32, "cvt.rna.tf32");
  add_targets<uint8_t>(t, "u8");
  add_targets<int8_t>(t, "s8");
  add_targets<uint16_t>(t, "u16");
  add_targets<int16_t>(t, "s16");
  add_targets<uint32_t>(t, "u32");
  add_targets<int32_t>(t, "s32");
  add_targets<uint64_t>(t, "u64");
  add_targets<int64_t>(t, "s64");
  add_targets<Half>(t, "f16");
  add_targets<BFloat>(t, "bf16");
  add_targets<float>(t, "f32");
  add_targets<double>(t, "f64");
  t.add(convert_pair<Half>, "cvt", "f16x2", "f32");
  t.add(convert_pair<BFloat>, "cvt", "bf16x2", "f32");
}

}  // namespace warpgrade::emu::WARPEMU_ISA
