// Integer arithmetic.
#include "exec/lane_loops.h"

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

// Sums and products wrap: they are computed unsigned.
struct Add {
  template <class T>
  static T apply(T a, T b) {
    using U = typename Unsigned<T>::type;
    return T(U(a) + U(b));
  }
};
struct Sub {
  template <class T>
  static T apply(T a, T b) {
    using U = typename Unsigned<T>::type;
    return T(U(a) - U(b));
  }
};
struct MulLo {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (sizeof(T) == 2)
      return T(uint32_t(a) * uint32_t(b));
    else {
      using U = typename Unsigned<T>::type;
      return T(U(a) * U(b));
    }
  }
};
struct MulHi {
  template <class T>
  static T apply(T a, T b) {
    using W = typename Wide<T>::type;
    return T((W(a) * W(b)) >> (8 * sizeof(T)));
  }
};
struct MadLo {
  template <class T>
  static T apply(T a, T b, T c) {
    return Add::apply(MulLo::apply(a, b), c);
  }
};
struct MadHi {
  template <class T>
  static T apply(T a, T b, T c) {
    return Add::apply(MulHi::apply(a, b), c);
  }
};
// 24-bit multiplication: the low 24 bits of each factor, sign-extended for s32.
template <class T>
T low24(T a) {
  return Traits<T>::is_signed ? T(uint32_t(a) << 8) >> 8 : T(uint32_t(a) & 0xffffff);
}
struct Mul24Lo {
  template <class T>
  static T apply(T a, T b) {
    return MulLo::apply(low24(a), low24(b));
  }
};
struct Mul24Hi {
  template <class T>
  static T apply(T a, T b) {
    using W = typename Wide<T>::type;
    return T((W(low24(a)) * W(low24(b))) >> 16);
  }
};
struct Mad24Lo {
  template <class T>
  static T apply(T a, T b, T c) {
    return Add::apply(Mul24Lo::apply(a, b), c);
  }
};
struct Mad24Hi {
  template <class T>
  static T apply(T a, T b, T c) {
    return Add::apply(Mul24Hi::apply(a, b), c);
  }
};
// Division by zero is unspecified in PTX; the hardware yields all ones. INT_MIN / -1 wraps.
struct Div {
  template <class T>
  static T apply(T a, T b) {
    if (b == 0) return T(~T(0));
    if (Traits<T>::is_signed && b == T(-1)) return Sub::apply(T(0), a);
    return T(a / b);
  }
};
struct Rem {
  template <class T>
  static T apply(T a, T b) {
    if (b == 0) return a;
    if (Traits<T>::is_signed && b == T(-1)) return 0;
    return T(a % b);
  }
};
// Keeps 16-bit minima and maxima from being vectorized: GCC 12 fails on their masked form for AVX-512.
template <class T>
T scalar(T a) {
  if constexpr (sizeof(T) == 2) __asm__("" : "+r"(a));
  return a;
}
struct Min {
  template <class T>
  static T apply(T a, T b) {
    return smaller(scalar(a), scalar(b));
  }
};
struct Max {
  template <class T>
  static T apply(T a, T b) {
    return larger(scalar(a), scalar(b));
  }
};
struct Abs {
  template <class T>
  static T apply(T a) {
    return a < 0 ? Sub::apply(T(0), a) : a;
  }
};
struct Neg {
  template <class T>
  static T apply(T a) {
    return Sub::apply(T(0), a);
  }
};
struct Sad {
  template <class T>
  static T apply(T a, T b, T c) {
    return Add::apply(c, a < b ? Sub::apply(b, a) : Sub::apply(a, b));
  }
};
struct AddSat {
  static int32_t apply(int32_t a, int32_t b) {
    return int32_t(smaller<int64_t>(larger<int64_t>(int64_t(a) + b, INT32_MIN), INT32_MAX));
  }
};
struct SubSat {
  static int32_t apply(int32_t a, int32_t b) {
    return int32_t(smaller<int64_t>(larger<int64_t>(int64_t(a) - b, INT32_MIN), INT32_MAX));
  }
};
// Of mad.hi.sat.s32: the sum is clamped.
struct MadHiSat {
  static int32_t apply(int32_t a, int32_t b, int32_t c) { return AddSat::apply(MulHi::apply(a, b), c); }
};
struct Mad24HiSat {
  static int32_t apply(int32_t a, int32_t b, int32_t c) { return AddSat::apply(Mul24Hi::apply(a, b), c); }
};

template <class T, class Op>
void wide_product(Warp& w, const Inst& i) {
  using W = typename Wide<T>::type;
  using U = typename Unsigned<W>::type;
  const T* a = lanes<T>(w, i.a);
  const T* b = lanes<T>(w, i.b);
  const W* c = lanes<W>(w, i.c);
  assign<W>(w, i.d, [=](uint32_t l) { return W(U(W(a[l]) * W(b[l])) + (Op::kAdds ? U(c[l]) : U(0))); });
}
struct MulWide {
  static constexpr bool kAdds = false;
};
struct MadWide {
  static constexpr bool kAdds = true;
};

template <class A, class B>
void dot4(Warp& w, const Inst& i) {
  const uint32_t* a = lanes<uint32_t>(w, i.a);
  const uint32_t* b = lanes<uint32_t>(w, i.b);
  const uint32_t* c = lanes<uint32_t>(w, i.c);
  assign<uint32_t>(w, i.d, [=](uint32_t l) {
    uint32_t sum = c[l];
    for (uint32_t k = 0; k < 4; ++k) sum += uint32_t(int32_t(A(a[l] >> 8 * k)) * int32_t(B(b[l] >> 8 * k)));
    return sum;
  });
}

// Carry chains. i.variant holds what takes part, i.flags whether the carry is written.
enum CarryOp : uint8_t { kAdd, kSub, kMadLo, kMadHi };
template <class T, CarryOp kOp, bool kCarryIn>
void with_carry(Warp& w, const Inst& i) {
  using W = typename Wide<T>::type;
  constexpr uint32_t kBits = 8 * sizeof(T);
  const T* a = lanes<T>(w, i.a);
  const T* b = lanes<T>(w, i.b);
  const T* c = lanes<T>(w, i.c);
  T* d = lanes<T>(w, i.d);
  uint32_t carry_out = w.carry;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(w.mask >> l & 1)) continue;
    const W in = kCarryIn ? W(w.carry >> l & 1) : W(0);
    W x = a[l], y = b[l];
    if (kOp == kMadLo || kOp == kMadHi) {
      const W product = W(a[l]) * W(b[l]);
      x = kOp == kMadLo ? W(T(product)) : W(T(product >> kBits));
      y = c[l];
    }
    const W result = kOp == kSub ? x - y - in : x + y + in;
    d[l] = T(result);
    const bool carry = (result >> kBits) != 0;
    carry_out = (carry_out & ~(1u << l)) | uint32_t(carry) << l;
  }
  if (i.flags != 0) w.carry = carry_out;
}

template <class T>
void add_signed_and_unsigned(HandlerTable& t, const char* type) {
  t.add(binary<T, Add>, "add", type);
  t.add(binary<T, Sub>, "sub", type);
  t.add(binary<T, MulLo>, "mul.lo", type);
  t.add(binary<T, MulHi>, "mul.hi", type);
  t.add(ternary<T, MadLo>, "mad.lo", type);
  t.add(ternary<T, MadHi>, "mad.hi", type);
  t.add(binary<T, Div>, "div", type);
  t.add(binary<T, Rem>, "rem", type);
  t.add(binary<T, Min>, "min", type);
  t.add(binary<T, Max>, "max", type);
  t.add(unary<T, Abs>, "abs", type);
  t.add(unary<T, Neg>, "neg", type);
  t.add(ternary<T, Sad>, "sad", type);
}

template <class T>
void add_24_bit(HandlerTable& t, const char* type) {
  t.add(binary<T, Mul24Lo>, "mul24.lo", type);
  t.add(binary<T, Mul24Hi>, "mul24.hi", type);
  t.add(ternary<T, Mad24Lo>, "mad24.lo", type);
  t.add(ternary<T, Mad24Hi>, "mad24.hi", type);
}

template <class T>
void add_carry_chain(HandlerTable& t, const char* type) {
  t.add(with_carry<T, kAdd, false>, "add.cc", type);
  t.add(with_carry<T, kAdd, true>, "addc", type);
  t.add(with_carry<T, kSub, false>, "sub.cc", type);
  t.add(with_carry<T, kSub, true>, "subc", type);
  t.add(with_carry<T, kMadLo, false>, "mad.lo.cc", type);
  t.add(with_carry<T, kMadHi, false>, "mad.hi.cc", type);
  t.add(with_carry<T, kMadLo, true>, "madc.lo", type);
  t.add(with_carry<T, kMadHi, true>, "madc.hi", type);
}

template <class T>
void add_wide(HandlerTable& t, const char* type) {
  t.add(wide_product<T, MulWide>, "mul.wide", type);
  t.add(wide_product<T, MadWide>, "mad.wide", type);
}

}  // namespace

void add_integer_handlers(HandlerTable& t) {
  add_signed_and_unsigned<uint16_t>(t, "u16");
  add_signed_and_unsigned<int16_t>(t, "s16");
  add_signed_and_unsigned<uint32_t>(t, "u32");
  add_signed_and_unsigned<int32_t>(t, "s32");
  add_signed_and_unsigned<uint64_t>(t, "u64");
  add_signed_and_unsigned<int64_t>(t, "s64");
  add_wide<uint16_t>(t, "u16");
  add_wide<int16_t>(t, "s16");
  add_wide<uint32_t>(t, "u32");
  add_wide<int32_t>(t, "s32");
  add_24_bit<uint32_t>(t, "u32");
  add_24_bit<int32_t>(t, "s32");
  t.add(binary<int32_t, AddSat>, "add.sat", "s32");
  t.add(binary<int32_t, SubSat>, "sub.sat", "s32");
  t.add(ternary<int32_t, MadHiSat>, "mad.hi.sat", "s32");
  t.add(ternary<int32_t, Mad24HiSat>, "mad24.hi.sat", "s32");
  t.add(dot4<uint8_t, uint8_t>, "dp4a", "u32", "u32");
  t.add(dot4<uint8_t, int8_t>, "dp4a", "u32", "s32");
  t.add(dot4<int8_t, uint8_t>, "dp4a", "s32", "u32");
  t.add(dot4<int8_t, int8_t>, "dp4a", "s32", "s32");
  add_carry_chain<uint32_t>(t, "u32");
  add_carry_chain<uint64_t>(t, "u64");
}

}  // namespace warpgrade::emu::WARPEMU_ISA
