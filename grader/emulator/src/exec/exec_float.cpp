// Single- and double-precision arithmetic.
//
// The approximate functions (.approx, .full) are computed to full precision: closer to the true value than
// a GPU, and within the error bounds that PTX gives. A NaN result in single precision is 0x7fffffff, as on
// a GPU.
#include <math.h>

#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <fenv.h>
#endif

#include "exec/lane_loops.h"

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

template <class T>
bool is_nan(T a) {
  return a != a;
}
// -0 and +0 compare equal; min and max order them by their sign bit.
template <class T>
struct Bits;
template <>
struct Bits<float> {
  using type = uint32_t;
};
template <>
struct Bits<double> {
  using type = uint64_t;
};

inline float canonical(float a) {
  return is_nan(a) ? bits_as<float>(0x7fffffffu) : a;
}
inline double canonical(double a) {
  return a;
}
template <class Op>
struct Canonical {
  template <class... T>
  static auto apply(T... operands) {
    return canonical(Op::apply(operands...));
  }
};

// A double that an operation makes NaN out of numbers has the sign bit on a GPU and on x86-64, and none on
// other processors. One that an operand was NaN for keeps that one's bits everywhere.
template <class Op>
struct SignedNan {
  template <class... T>
  static double apply(T... operands) {
    const double result = Op::apply(operands...);
#if !defined(__x86_64__)
    const bool given = (... || is_nan(operands));
    if (is_nan(result) && !given) return bits_as<double>(uint64_t(0xfff8) << 48);
#endif
    return result;
  }
};

struct Add {
  template <class T>
  static T apply(T a, T b) {
    return a + b;
  }
};
struct Sub {
  template <class T>
  static T apply(T a, T b) {
    return a - b;
  }
};
struct Mul {
  template <class T>
  static T apply(T a, T b) {
    return a * b;
  }
};
struct Div {
  template <class T>
  static T apply(T a, T b) {
    return a / b;
  }
};
struct Fma {
  static float apply(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
  static double apply(double a, double b, double c) { return __builtin_fma(a, b, c); }
};
struct Min {
  template <class T>
  static T apply(T a, T b) {
    using U = typename Bits<T>::type;
    const T equal = bits_as<T>(U(bits_as<U>(a) | bits_as<U>(b)));
    const T ordered = a < b ? a : b < a ? b : equal;
    return is_nan(a) ? b : is_nan(b) ? a : ordered;
  }
};
struct Max {
  template <class T>
  static T apply(T a, T b) {
    using U = typename Bits<T>::type;
    const T equal = bits_as<T>(U(bits_as<U>(a) & bits_as<U>(b)));
    const T ordered = a > b ? a : b > a ? b : equal;
    return is_nan(a) ? b : is_nan(b) ? a : ordered;
  }
};
template <class Op>
struct PropagateNan {
  template <class T>
  static T apply(T a, T b) {
    return is_nan(a) || is_nan(b) ? T(__builtin_nanf("")) : Op::apply(a, b);
  }
};
struct Abs {
  static float apply(float a) { return __builtin_fabsf(a); }
  static double apply(double a) { return __builtin_fabs(a); }
};
struct Neg {
  template <class T>
  static T apply(T a) {
    return is_nan(a) ? a : -a;
  }
};
// .xorsign.abs: the greater or lesser magnitude with the product's sign.
template <class Op>
struct XorSign {
  static float apply(float a, float b) {
    const float r = Op::apply(Abs::apply(a), Abs::apply(b));
    return is_nan(r) ? r
                     : bits_as<float>(bits_as<uint32_t>(r) |
                                      ((bits_as<uint32_t>(a) ^ bits_as<uint32_t>(b)) & 1u << 31));
  }
};
struct Sqrt {
  static float apply(float a) { return __builtin_sqrtf(a); }
  static double apply(double a) { return __builtin_sqrt(a); }
};
struct Rsqrt {
  template <class T>
  static T apply(T a) {
    return T(1) / Sqrt::apply(a);
  }
};
struct Rcp {
  template <class T>
  static T apply(T a) {
    return T(1) / a;
  }
};
struct Sin {
  static float apply(float a) { return sinf(a); }
};
struct Cos {
  static float apply(float a) { return cosf(a); }
};
struct Ex2 {
  static float apply(float a) { return exp2f(a); }
};
struct Lg2 {
  static float apply(float a) { return log2f(a); }
};
struct Tanh {
  static float apply(float a) { return tanhf(a); }
};
// copysign.f32 d, a, b: the sign of a on the magnitude of b.
struct Copysign {
  static float apply(float a, float b) { return __builtin_copysignf(b, a); }
  static double apply(double a, double b) { return __builtin_copysign(b, a); }
};

float flush(float a) {
  return __builtin_fabsf(a) < 0x1p-126f ? __builtin_copysignf(0.0f, a) : a;
}
float saturate(float a) {
  return a > 0.0f ? (a < 1.0f ? a : 1.0f) : 0.0f;
}  // NaN becomes 0

// .ftz: subnormal inputs and results are zero; .sat: results are clamped to [0, 1].
template <class Op, bool kFlush, bool kSaturate>
struct Modified {
  static float in(float a) { return kFlush ? flush(a) : a; }
  static float out(float a) {
    const float r = kFlush ? flush(a) : a;
    return kSaturate ? saturate(r) : canonical(r);
  }
  static float apply(float a) { return out(Op::apply(in(a))); }
  static float apply(float a, float b) { return out(Op::apply(in(a), in(b))); }
  static float apply(float a, float b, float c) { return out(Op::apply(in(a), in(b), in(c))); }
};

// Directed rounding: the inner handler runs under another rounding mode of the processor.
void rounded(Warp& w, const Inst& i) {
#if defined(__x86_64__)
  static const unsigned kModes[4] = {_MM_ROUND_NEAREST, _MM_ROUND_TOWARD_ZERO, _MM_ROUND_DOWN, _MM_ROUND_UP};
  const unsigned saved = _mm_getcsr();
  _mm_setcsr((saved & ~unsigned(_MM_ROUND_MASK)) | kModes[i.variant & 3]);
  i.inner(w, i);
  _mm_setcsr(saved);
#else
  static const int kModes[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  const int saved = fegetround();
  fesetround(kModes[i.variant & 3]);
  i.inner(w, i);
  fesetround(saved);
#endif
}

enum TestKind : uint8_t { kFinite, kInfinite, kNumber, kNotANumber, kNormal, kSubnormal };
template <class T>
bool test_property(TestKind kind, T a) {
  const T magnitude = Abs::apply(a);
  const T smallest = sizeof(T) == 4 ? T(0x1p-126f) : T(0x1p-1022);
  const bool infinite = magnitude == T(__builtin_inff());
  switch (kind) {
    case kFinite:
      return !is_nan(a) && !infinite;
    case kInfinite:
      return infinite;
    case kNumber:
      return !is_nan(a);
    case kNotANumber:
      return is_nan(a);
    case kNormal:
      return !is_nan(a) && !infinite && magnitude >= smallest;
    case kSubnormal:
      return magnitude > 0 && magnitude < smallest;
  }
  return false;
}
template <class T>
void test_float(Warp& w, const Inst& i) {
  const T* a = lanes<T>(w, i.a);
  const auto kind = TestKind(i.variant);
  uint32_t result = 0;
  for (uint32_t l = 0; l < kLanes; ++l) result |= uint32_t(test_property(kind, a[l])) << l;
  write_predicate(w, i.d, result);
}

template <class Op>
void add_unary(HandlerTable& t, const char* op) {
  t.add(unary<float, Canonical<Op>>, op, "f32");
  t.add(unary<float, Modified<Op, true, false>>, op, "ftz", "f32");
}
template <class Op>
void add_binary(HandlerTable& t, const char* op) {
  t.add(binary<float, Canonical<Op>>, op, "f32");
  t.add(binary<float, Modified<Op, true, false>>, op, "ftz", "f32");
  t.add(binary<double, SignedNan<Op>>, op, "f64");
}
template <class Op>
void add_saturating_binary(HandlerTable& t, const char* op) {
  add_binary<Op>(t, op);
  t.add(binary<float, Modified<Op, false, true>>, op, "sat", "f32");
  t.add(binary<float, Modified<Op, true, true>>, op, "ftz.sat", "f32");
}

template <class Op>
void add_xorsign(HandlerTable& t, const char* op) {
  t.add(binary<float, Canonical<XorSign<Op>>>, op, "f32");
  t.add(binary<float, Modified<XorSign<Op>, true, false>>, op, "ftz", "f32");
}

}  // namespace

void add_float_handlers(HandlerTable& t) {
  add_saturating_binary<Add>(t, "add");
  add_saturating_binary<Sub>(t, "sub");
  add_saturating_binary<Mul>(t, "mul");
  add_binary<Div>(t, "div");
  add_binary<Min>(t, "min");
  add_binary<Max>(t, "max");
  add_binary<PropagateNan<Min>>(t, "min.NaN");
  add_binary<PropagateNan<Max>>(t, "max.NaN");
  t.add(binary<float, Copysign>, "copysign", "f32");
  t.add(binary<double, Copysign>, "copysign", "f64");
  add_xorsign<Min>(t, "min.xorsign");
  add_xorsign<Max>(t, "max.xorsign");
  add_xorsign<PropagateNan<Min>>(t, "min.NaN.xorsign");
  add_xorsign<PropagateNan<Max>>(t, "max.NaN.xorsign");
  t.add(ternary<float, Canonical<Fma>>, "fma", "f32");
  t.add(ternary<float, Modified<Fma, true, false>>, "fma", "ftz", "f32");
  t.add(ternary<float, Modified<Fma, false, true>>, "fma", "sat", "f32");
  t.add(ternary<float, Modified<Fma, true, true>>, "fma", "ftz.sat", "f32");
  t.add(ternary<double, SignedNan<Fma>>, "fma", "f64");
  add_unary<Abs>(t, "abs");
  add_unary<Neg>(t, "neg");
  add_unary<Sqrt>(t, "sqrt");
  add_unary<Rsqrt>(t, "rsqrt");
  add_unary<Rcp>(t, "rcp");
  add_unary<Sin>(t, "sin");
  add_unary<Cos>(t, "cos");
  add_unary<Ex2>(t, "ex2");
  add_unary<Lg2>(t, "lg2");
  add_unary<Tanh>(t, "tanh");
  t.add(unary<double, Abs>, "abs", "f64");
  t.add(unary<double, Neg>, "neg", "f64");
  t.add(unary<double, SignedNan<Sqrt>>, "sqrt", "f64");
  t.add(unary<double, SignedNan<Rsqrt>>, "rsqrt", "f64");
  t.add(unary<double, SignedNan<Rcp>>, "rcp", "f64");
  t.add(test_float<float>, "testp", "f32");
  t.add(test_float<double>, "testp", "f64");
  t.add(rounded, "rounded");
}

}  // namespace warpgrade::emu::WARPEMU_ISA
