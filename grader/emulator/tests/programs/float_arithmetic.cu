// fp32 and fp64 arithmetic: IEEE operations bit for bit, rounding modes, NaN rules, approximations within
// bounds. With FAST_MATH (built with -use_fast_math) subnormal numbers are flushed and everything is within
// bounds only.
#include <cfenv>

#include "check.h"

#ifdef FAST_MATH
constexpr bool kExact = false;
#else
constexpr bool kExact = true;
#endif

void single_precision() {
  const double t = kExact ? 0 : 1e-6;
  compare<float>(
      "add", [] __device__(int i) { return float_of(i, 1) + float_of(i, 2); },
      [](int i) { return float_of(i, 1) + float_of(i, 2); }, t);
  compare<float>(
      "mul", [] __device__(int i) { return __fmul_rn(float_of(i, 1), 1.5f); },
      [](int i) {
        return (!kExact && std::fabs(float_of(i, 1)) < 1.2e-38f ? 0 * float_of(i, 1) : float_of(i, 1)) * 1.5f;
      },
      t);
  if (!kExact) return;
  compare<float>(
      "sub", [] __device__(int i) { return float_of(i, 1) - float_of(i, 2); },
      [](int i) { return float_of(i, 1) - float_of(i, 2); });
  compare<float>(
      "div", [] __device__(int i) { return float_of(i, 1) / float_of(i, 2); },
      [](int i) { return float_of(i, 1) / float_of(i, 2); });
  compare<float>(
      "sqrt", [] __device__(int i) { return sqrtf(fabsf(float_of(i, 1))); },
      [](int i) { return std::sqrt(std::fabs(float_of(i, 1))); });
  compare<float>(
      "fma", [] __device__(int i) { return fmaf(float_of(i, 1), float_of(i, 2), float_of(i, 3)); },
      [](int i) { return std::fma(float_of(i, 1), float_of(i, 2), float_of(i, 3)); });
  compare<float>(
      "min", [] __device__(int i) { return fminf(float_of(i, 1), float_of(i, 2)); },
      [](int i) {
        const float a = float_of(i, 1), b = float_of(i, 2);
        if (a == b) return std::signbit(a) ? a : b;
        return std::fmin(a, b);
      });
  compare<float>(
      "max", [] __device__(int i) { return fmaxf(float_of(i, 1), float_of(i, 2)); },
      [](int i) {
        const float a = float_of(i, 1), b = float_of(i, 2);
        if (a == b) return std::signbit(a) ? b : a;
        return std::fmax(a, b);
      });
  compare<float>(
      "abs and copysign", [] __device__(int i) { return copysignf(fabsf(float_of(i, 1)), float_of(i, 2)); },
      [](int i) { return std::copysign(std::fabs(float_of(i, 1)), float_of(i, 2)); });
}

template <class F>
auto under(int mode, F f) {
  std::fesetround(mode);
  volatile auto result = f();
  std::fesetround(FE_TONEAREST);
  return result;
}

void rounding_modes() {
  static volatile float a, b;
  const auto sum = [](int mode) {
    return [mode](int i) {
      a = float_of(i, 1), b = float_of(i, 2);
      return under(mode, [] { return a + b; });
    };
  };
  compare<float>(
      "add.rz", [] __device__(int i) { return __fadd_rz(float_of(i, 1), float_of(i, 2)); },
      sum(FE_TOWARDZERO));
  compare<float>(
      "add.ru", [] __device__(int i) { return __fadd_ru(float_of(i, 1), float_of(i, 2)); }, sum(FE_UPWARD));
  compare<float>(
      "add.rd", [] __device__(int i) { return __fadd_rd(float_of(i, 1), float_of(i, 2)); }, sum(FE_DOWNWARD));
  compare<float>(
      "div.rz", [] __device__(int i) { return __fdiv_rz(float_of(i, 1), float_of(i, 2)); },
      [](int i) {
        a = float_of(i, 1), b = float_of(i, 2);
        return under(FE_TOWARDZERO, [] { return a / b; });
      });
  compare<double>(
      "dmul.ru", [] __device__(int i) { return __dmul_ru(double_of(i, 1), double_of(i, 2)); },
      [](int i) {
        volatile double x = double_of(i, 1), y = double_of(i, 2);
        return under(FE_UPWARD, [&] { return x * y; });
      });
}

void double_precision() {
  compare_both<double>(
      "dadd", BOTH(int i) { return double_of(i, 1) + double_of(i, 2); });
  compare<double>(
      "dfma", [] __device__(int i) { return fma(double_of(i, 1), double_of(i, 2), double_of(i, 3)); },
      [](int i) { return std::fma(double_of(i, 1), double_of(i, 2), double_of(i, 3)); });
  compare_both<double>(
      "ddiv", BOTH(int i) { return double_of(i, 1) / double_of(i, 2); });
  compare<double>(
      "dsqrt", [] __device__(int i) { return sqrt(fabs(double_of(i, 1))); },
      [](int i) { return std::sqrt(std::fabs(double_of(i, 1))); });
  compare<double>(
      "exp", [] __device__(int i) { return exp(i * 0.03 - 15); },
      [](int i) { return std::exp(i * 0.03 - 15); }, 1e-14);
  compare<double>(
      "log", [] __device__(int i) { return log(i * 0.3 + 2.1); },
      [](int i) { return std::log(i * 0.3 + 2.1); }, 1e-13);
  compare<double>(
      "pow", [] __device__(int i) { return pow(1.0 + i * 0.001, 2.5); },
      [](int i) { return std::pow(1.0 + i * 0.001, 2.5); }, 1e-14);
}

void transcendental() {
  compare<float>(
      "expf", [] __device__(int i) { return expf(i * 0.05f - 20); },
      [](int i) { return std::exp(i * 0.05f - 20); }, 1e-5);
  compare<float>(
      "logf", [] __device__(int i) { return logf(i * 0.3f + 2); },
      [](int i) { return std::log(i * 0.3f + 2); }, 1e-5);
  compare<float>(
      "sinf", [] __device__(int i) { return sinf(i * 0.003f + 0.1f); },
      [](int i) { return std::sin(i * 0.003f + 0.1f); }, 1e-4);
  compare<float>(
      "rsqrtf", [] __device__(int i) { return rsqrtf(i + 1.0f); },
      [](int i) { return 1 / std::sqrt(i + 1.0f); }, 1e-6);
  compare<float>(
      "tanhf", [] __device__(int i) { return tanhf(i * 0.01f + 0.1f); },
      [](int i) { return std::tanh(i * 0.01f + 0.1f); }, 1e-4);
  compare<float>(
      "__fdividef", [] __device__(int i) { return __fdividef(3.0f, i + 1.0f); },
      [](int i) { return 3.0f / (i + 1.0f); }, 1e-6);
}

int main() {
  single_precision();
  if (kExact) rounding_modes();
  if (kExact) double_precision();
  transcendental();
#ifdef FAST_MATH
  compare<float>(
      "flush to zero", [] __device__(int i) { return (i + 1) * 1e-40f * 1.0f + float(i) * 1e-42f; },
      [](int i) { return (i + 1) * 1e-40f < 1.17549435e-38f ? 0.0f : (i + 1) * 1e-40f; }, 1e-2);
#endif
  return g_failures;
}
