// Numbers as unevaluated sums of two doubles, about 104 bits: what the judge computes with on a GPU, where
// there is no long double. Error-free transformations after Dekker (1971) and Knuth; the algorithms follow
// Hida, Li and Bailey, "Library for Double-Double and Quad-Double Arithmetic" (2007). Products and sums are
// rounded one by one: a compiler that fuses them would break the transformations.
#pragma once

#include <cmath>

#include "judge/measure/random.h"  // WARPGRADE_HOST_DEVICE

namespace warpgrade::gcn {

#ifdef __CUDA_ARCH__
__device__ inline double plus(double a, double b) {
  return __dadd_rn(a, b);
}
__device__ inline double times(double a, double b) {
  return __dmul_rn(a, b);
}
#else
inline double plus(double a, double b) {
  return a + b;
}
inline double times(double a, double b) {
  return a * b;
}
#endif

struct DoubleDouble {
  double high = 0, low = 0;
};

// a + b, exactly.
WARPGRADE_HOST_DEVICE inline DoubleDouble two_sum(double a, double b) {
  const double sum = plus(a, b), of_b = plus(sum, -a);
  return {sum, plus(plus(a, -plus(sum, -of_b)), plus(b, -of_b))};
}

// a + b, exactly where |a| >= |b|.
WARPGRADE_HOST_DEVICE inline DoubleDouble quick_two_sum(double a, double b) {
  const double sum = plus(a, b);
  return {sum, plus(b, -plus(sum, -a))};
}

// a * b, exactly where nothing underflows.
WARPGRADE_HOST_DEVICE inline DoubleDouble two_product(double a, double b) {
  const double product = times(a, b);
  return {product, fma(a, b, -product)};
}

WARPGRADE_HOST_DEVICE inline DoubleDouble add(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble high = two_sum(a.high, b.high), low = two_sum(a.low, b.low);
  const DoubleDouble sum = quick_two_sum(high.high, plus(high.low, low.high));
  return quick_two_sum(sum.high, plus(sum.low, low.low));
}

WARPGRADE_HOST_DEVICE inline DoubleDouble multiply(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble product = two_product(a.high, b.high);
  return quick_two_sum(product.high, plus(product.low, plus(times(a.high, b.low), times(a.low, b.high))));
}

WARPGRADE_HOST_DEVICE inline DoubleDouble negate(DoubleDouble a) {
  return {-a.high, -a.low};
}

// 1 / sqrt(degree), 0 for 0: one Newton step from the rounded value.
WARPGRADE_HOST_DEVICE inline DoubleDouble inverse_root(int degree) {
  if (degree == 0) return {};
  const double d = degree, root = 1.0 / sqrt(d);
  const DoubleDouble square = multiply(two_product(root, root), {d, 0});
  const DoubleDouble rest = add({1, 0}, negate(square));
  return quick_two_sum(root, times(times(0.5, root), rest.high));
}

// exp(a) for a <= 0 and a few units above; 0 below -200.
WARPGRADE_HOST_DEVICE inline DoubleDouble exponential(DoubleDouble a) {
  constexpr DoubleDouble kLog2{6.931471805599452862e-01, 2.319046813846299558e-17};
  constexpr int kSquarings = 6, kTerms = 12;
  if (a.high < -200) return {};
  const double k = rint(a.high / kLog2.high);
  DoubleDouble rest = add(a, negate(multiply(kLog2, {k, 0})));
  rest.high = times(rest.high, 1.0 / (1 << kSquarings));  // exact
  rest.low = times(rest.low, 1.0 / (1 << kSquarings));
  DoubleDouble sum{1, 0};  // Horner: 1 + r (1 + r/2 (1 + r/3 (...)))
  for (int n = kTerms; n > 0; --n) {
    // 1 / n as a double-double
    const double quotient = 1.0 / n;
    const DoubleDouble inverse{quotient, times(-fma(quotient, static_cast<double>(n), -1.0), quotient)};
    sum = add({1, 0}, multiply(multiply(rest, inverse), sum));
  }
  for (int i = 0; i < kSquarings; ++i) sum = multiply(sum, sum);
  return {ldexp(sum.high, static_cast<int>(k)), ldexp(sum.low, static_cast<int>(k))};
}

// log(a) for a in [1, 16]: one Newton step from the rounded value.
WARPGRADE_HOST_DEVICE inline DoubleDouble logarithm(DoubleDouble a) {
  const double first = log(a.high);
  const DoubleDouble rest = add(multiply(a, exponential({-first, 0})), {-1, 0});
  return add(two_sum(first, rest.high), {times(-0.5, times(rest.high, rest.high)), rest.low});
}

}  // namespace warpgrade::gcn
