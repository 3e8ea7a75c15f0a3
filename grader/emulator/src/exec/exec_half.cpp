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

// Halves of all lanes, kPerLane a lane: 1 (f16) or 2 (f16x2). Those of inactive lanes are not written.
template <unsigned kPerLane>
void write_halves(Warp& w, uint32_t slot, const uint16_t* halves) {
  if constexpr (kPerLane == 1) {
    assign<uint16_t>(w, slot, [=](uint32_t l) { return halves[l]; });
  } else {
    const auto* pairs = static_cast<const uint32_t*>(__builtin_assume_aligned(halves, 64));
    assign<uint32_t>(w, slot, [=](uint32_t l) { return pairs[l]; });
  }
}
template <unsigned kPerLane, class Compute>
void assign_halves(Warp& w, uint32_t slot, Compute compute) {
  alignas(64) uint16_t results[kLanes * kPerLane];
  WARPEMU_VECTORIZE for (uint32_t k = 0; k < kLanes * kPerLane; ++k) results[k] = compute(k).bits;
  write_halves<kPerLane>(w, slot, results);
}

template <class T, bool kFlush>
[[gnu::always_inline]] inline float operand(const uint16_t* elements, uint32_t k) {
  return flushed<T, kFlush>(to_float(T{elements[k]}));
}

template <class T, unsigned kPerLane, class Op, bool kFlush = false>
void half_binary(Warp& w, const Inst& i) {
  const uint16_t *a = lanes<uint16_t>(w, i.a), *b = lanes<uint16_t>(w, i.b);
  assign_halves<kPerLane>(w, i.d, [=](uint32_t k) {
    const float r = Op::apply(operand<T, kFlush>(a, k), operand<T, kFlush>(b, k));
    return from_float<T>(flushed<T, kFlush>(r));
  });
}
template <class T, unsigned kPerLane, class Op, bool kFlush = false>
void half_unary(Warp& w, const Inst& i) {
  const uint16_t* a = lanes<uint16_t>(w, i.a);
  assign_halves<kPerLane>(w, i.d, [=](uint32_t k) {
    return from_float<T>(flushed<T, kFlush>(Op::apply(operand<T, kFlush>(a, k))));
  });
}

// x + y rounded to odd: what is cut off shows in the last bit, so that rounding again to fewer bits
// rounds once.
double sum_to_odd(double x, double y) {
  const double sum = x + y, of_y = sum - x, error = (x - (sum - of_y)) + (y - of_y);
  const auto bits = bits_as<uint64_t>(sum);
  const auto is_moved =
      uint64_t(error != 0) & uint64_t(__builtin_fabs(sum) <= 0x1.fffffffffffffp1023) & ~bits & 1;
  const uint64_t is_towards_zero = (bits_as<uint64_t>(error) ^ bits) >> 63;
  return bits_as<double>(bits + is_moved * (1 - 2 * is_towards_zero));
}

// flags: 1 relu, 2 sat. In steps that the compiler makes vectors of.
template <class T, unsigned kPerLane, bool kFlush = false>
void half_fma(Warp& w, const Inst& i) {
  constexpr uint32_t kCount = kLanes * kPerLane;
  const uint16_t *a = lanes<uint16_t>(w, i.a), *b = lanes<uint16_t>(w, i.b), *c = lanes<uint16_t>(w, i.c);
  alignas(64) float x[kCount], y[kCount], z[kCount];
  WARPEMU_VECTORIZE for (uint32_t k = 0; k < kCount; ++k) x[k] = operand<T, kFlush>(a, k);
  WARPEMU_VECTORIZE for (uint32_t k = 0; k < kCount; ++k) y[k] = operand<T, kFlush>(b, k);
  WARPEMU_VECTORIZE for (uint32_t k = 0; k < kCount; ++k) z[k] = operand<T, kFlush>(c, k);
  alignas(64) double sums[kCount];
  WARPEMU_VECTORIZE for (uint32_t k = 0; k < kCount; ++k) sums[k] =
      sum_to_odd(double(x[k]) * double(y[k]), double(z[k]));
  alignas(64) uint16_t results[kCount];
  WARPEMU_VECTORIZE for (uint32_t k = 0; k < kCount; ++k) results[k] = from_double<T>(sums[k]).bits;
  if (kFlush || i.flags != 0) {
    const bool is_relu = i.flags & 1, is_saturated = i.flags & 2;
    for (uint16_t& half : results) {
      float r = to_float(T{half});
      if (is_relu && r <= 0) r = 0;
      if (is_saturated) r = r > 0 ? (r < 1 ? r : 1) : 0;
      half = from_float<T>(flushed<T, kFlush>(r)).bits;
    }
  }
  write_halves<kPerLane>(w, i.d, results);
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
