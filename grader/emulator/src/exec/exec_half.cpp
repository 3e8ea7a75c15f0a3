// fp16 and bf16 arithmetic, single and packed in pairs. Sums, products and quotients of 11- and 8-bit
// significands are exact enough in float that rounding twice equals rounding once; fma goes through double.
#include <math.h>

#include "exec/half.h"

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

struct Add {
  static float apply(float a, float b) { return a + b; }
};
struct Sub {
  static float apply(float a, float b) { return a - b; }
};
struct Mul {
  static float apply(float a, float b) { return a * b; }
};
template <class Op>
struct Saturated {
  static float apply(float a, float b) {
    const float r = Op::apply(a, b);
    return r > 0 ? (r < 1 ? r : 1) : 0;  // NaN becomes 0
  }
};
struct Min {
  static float apply(float a, float b) {
    return a != a ? b : b != b ? a : (a < b || (a == b && __builtin_signbit(a))) ? a : b;
  }
};
struct Max {
  static float apply(float a, float b) {
    return a != a ? b : b != b ? a : (a > b || (a == b && !__builtin_signbit(a))) ? a : b;
  }
};
struct MinNan {
  static float apply(float a, float b) { return a != a || b != b ? __builtin_nanf("") : Min::apply(a, b); }
};
struct MaxNan {
  static float apply(float a, float b) { return a != a || b != b ? __builtin_nanf("") : Max::apply(a, b); }
};
template <class Op>
struct XorSign {
  static float apply(float a, float b) {
    const float r = Op::apply(__builtin_fabsf(a), __builtin_fabsf(b));
    return __builtin_copysignf(r, __builtin_signbit(a) != __builtin_signbit(b) ? -1.0f : 1.0f);
  }
};
struct Ex2 {
  static float apply(float a) { return exp2f(a); }
};
struct Tanh {
  static float apply(float a) { return tanhf(a); }
};
struct Neg {
  static float apply(float a) { return -a; }
};
struct Abs {
  static float apply(float a) { return __builtin_fabsf(a); }
};

// .ftz: subnormal inputs and results are zero.
template <class T, bool kFlush>
float flushed(float a) {
  constexpr float least = __is_same(T, Half) ? 0x1p-14f : 0x1p-126f;
  return kFlush && __builtin_fabsf(a) < least ? __builtin_copysignf(0.0f, a) : a;
}

// One handler for both shapes: kPerLane is 1 (f16) or 2 (f16x2) elements a lane.
template <class T, unsigned kPerLane, class Op, bool kFlush = false>
void half_binary(Warp& w, const Inst& i) {
  const T* a = reinterpret_cast<const T*>(w.regs + i.a);
  const T* b = reinterpret_cast<const T*>(w.regs + i.b);
  T* d = reinterpret_cast<T*>(w.regs + i.d);
  for (uint32_t k = 0; k < kLanes * kPerLane; ++k) {
    if (w.mask >> (k / kPerLane) & 1) {
      const float r = Op::apply(flushed<T, kFlush>(to_float(a[k])), flushed<T, kFlush>(to_float(b[k])));
      d[k] = from_float<T>(flushed<T, kFlush>(r));
    }
  }
}
template <class T, unsigned kPerLane, class Op, bool kFlush = false>
void half_unary(Warp& w, const Inst& i) {
  const T* a = reinterpret_cast<const T*>(w.regs + i.a);
  T* d = reinterpret_cast<T*>(w.regs + i.d);
  for (uint32_t k = 0; k < kLanes * kPerLane; ++k) {
    if (w.mask >> (k / kPerLane) & 1) {
      const float r = Op::apply(flushed<T, kFlush>(to_float(a[k])));
      d[k] = from_float<T>(flushed<T, kFlush>(r));
    }
  }
}
// x + y rounded to odd: what is cut off shows in the last bit, so that rounding again to fewer bits
// rounds once.
double sum_to_odd(double x, double y) {
  const double sum = x + y, of_y = sum - x, error = (x - (sum - of_y)) + (y - of_y);
  const auto bits = bits_as<uint64_t>(sum);
  if (!(error != 0) || !__builtin_isfinite(sum) || (bits & 1) != 0) return sum;
  const bool away = (error > 0) == (sum > 0);
  return bits_as<double>(away ? bits + 1 : bits - 1);
}

// Round to nearest even.
BFloat from_double(double v) {
  if (v != v) return {uint16_t(0x7fff)};
  float f = float(v);
  // Rounded to odd in single precision, then to eight bits.
  auto bits = bits_as<uint32_t>(f);
  if (double(f) != v && __builtin_isfinite(f) && (bits & 1) == 0) {
    bits = (__builtin_fabs(double(f)) < __builtin_fabs(v)) ? bits + 1 : bits - 1;
    f = bits_as<float>(bits);
  }
  return from_float<BFloat>(f);
}

// flags: 1 relu, 2 sat
template <class T, unsigned kPerLane, bool kFlush = false>
void half_fma(Warp& w, const Inst& i) {
  const T* a = reinterpret_cast<const T*>(w.regs + i.a);
  const T* b = reinterpret_cast<const T*>(w.regs + i.b);
  const T* c = reinterpret_cast<const T*>(w.regs + i.c);
  T* d = reinterpret_cast<T*>(w.regs + i.d);
  for (uint32_t k = 0; k < kLanes * kPerLane; ++k) {
    if (!(w.mask >> (k / kPerLane) & 1)) continue;
    const double sum =
        sum_to_odd(double(flushed<T, kFlush>(to_float(a[k]))) * double(flushed<T, kFlush>(to_float(b[k]))),
                   double(flushed<T, kFlush>(to_float(c[k]))));
    float r = __is_same(T, Half) ? float(Half(sum)) : to_float(from_double(sum));
    if ((i.flags & 1) && !(r > 0) && r == r) r = 0;
    if (i.flags & 2) r = r > 0 ? (r < 1 ? r : 1) : 0;
    d[k] = from_float<T>(flushed<T, kFlush>(r));
  }
}

template <class T, unsigned kPerLane>
void add_flushing(HandlerTable& t, const char* type) {
  t.add(half_binary<T, kPerLane, Add, true>, "add", "ftz", type);
  t.add(half_binary<T, kPerLane, Sub, true>, "sub", "ftz", type);
  t.add(half_binary<T, kPerLane, Mul, true>, "mul", "ftz", type);
  t.add(half_binary<T, kPerLane, Saturated<Add>, true>, "add", "ftz.sat", type);
  t.add(half_binary<T, kPerLane, Saturated<Sub>, true>, "sub", "ftz.sat", type);
  t.add(half_binary<T, kPerLane, Saturated<Mul>, true>, "mul", "ftz.sat", type);
  t.add(half_binary<T, kPerLane, Min, true>, "min", "ftz", type);
  t.add(half_binary<T, kPerLane, Max, true>, "max", "ftz", type);
  t.add(half_binary<T, kPerLane, MinNan, true>, "min.NaN", "ftz", type);
  t.add(half_binary<T, kPerLane, MaxNan, true>, "max.NaN", "ftz", type);
  t.add(half_unary<T, kPerLane, Ex2, true>, "ex2", "ftz", type);
  t.add(half_unary<T, kPerLane, Neg, true>, "neg", "ftz", type);
  t.add(half_unary<T, kPerLane, Abs, true>, "abs", "ftz", type);
  t.add(half_fma<T, kPerLane, true>, "fma", "ftz", type);
}

template <class T, unsigned kPerLane>
void add_arithmetic(HandlerTable& t, const char* type) {
  t.add(half_binary<T, kPerLane, Add>, "add", type);
  t.add(half_binary<T, kPerLane, Sub>, "sub", type);
  t.add(half_binary<T, kPerLane, Mul>, "mul", type);
  t.add(half_binary<T, kPerLane, Saturated<Add>>, "add", "sat", type);
  t.add(half_binary<T, kPerLane, Saturated<Sub>>, "sub", "sat", type);
  t.add(half_binary<T, kPerLane, Saturated<Mul>>, "mul", "sat", type);
  t.add(half_binary<T, kPerLane, Min>, "min", type);
  t.add(half_binary<T, kPerLane, Max>, "max", type);
  t.add(half_binary<T, kPerLane, MinNan>, "min.NaN", type);
  t.add(half_binary<T, kPerLane, MaxNan>, "max.NaN", type);
  t.add(half_binary<T, kPerLane, XorSign<Min>>, "min.xorsign", type);
  t.add(half_binary<T, kPerLane, XorSign<Max>>, "max.xorsign", type);
  t.add(half_binary<T, kPerLane, XorSign<MinNan>>, "min.NaN.xorsign", type);
  t.add(half_binary<T, kPerLane, XorSign<MaxNan>>, "max.NaN.xorsign", type);
  t.add(half_unary<T, kPerLane, Ex2>, "ex2", type);
  t.add(half_unary<T, kPerLane, Tanh>, "tanh", type);
  t.add(half_unary<T, kPerLane, Neg>, "neg", type);
  t.add(half_unary<T, kPerLane, Abs>, "abs", type);
  t.add(half_fma<T, kPerLane>, "fma", type);
  add_flushing<T, kPerLane>(t, type);
}

}  // namespace

void add_half_handlers(HandlerTable& t) {
  add_arithmetic<Half, 1>(t, "f16");
  add_arithmetic<Half, 2>(t, "f16x2");
  add_arithmetic<BFloat, 1>(t, "bf16");
  add_arithmetic<BFloat, 2>(t, "bf16x2");
}

}  // namespace warpgrade::emu::WARPEMU_ISA
