// fp16 and bf16: conversions and arithmetic, single and packed.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "check.h"

__host__ __device__ float moderate(int i, int salt) {
  return float(int(bits_of(i, salt) % 2001) - 1000) / 64.0f;
}

float to_half(double v) {
  return __half2float(__float2half(float(v)));
}
float to_bfloat(double v) {
  return __bfloat162float(__float2bfloat16(float(v)));
}

int main() {
  compare<float>(
      "half round trip", [] __device__(int i) { return __half2float(__float2half(float_of(i, 1))); },
      [](int i) { return to_half(float_of(i, 1)); });
  compare<float>(
      "half add",
      [] __device__(int i) {
        return __half2float(__hadd(__float2half(moderate(i, 1)), __float2half(moderate(i, 2))));
      },
      [](int i) { return to_half(to_half(moderate(i, 1)) + to_half(moderate(i, 2))); });
  compare<float>(
      "half mul",
      [] __device__(int i) {
        return __half2float(__hmul(__float2half(moderate(i, 1)), __float2half(moderate(i, 2))));
      },
      [](int i) { return to_half(to_half(moderate(i, 1)) * to_half(moderate(i, 2))); });
  compare<float>(
      "half2 fma",
      [] __device__(int i) {
        const __half2 a = __floats2half2_rn(moderate(i, 1), moderate(i, 2));
        const __half2 b = __floats2half2_rn(moderate(i, 3), moderate(i, 4));
        const __half2 r = __hfma2(a, b, a);
        return __low2float(r) * 2 + __high2float(r);
      },
      [](int i) {
        const auto fma = [](float a, float b) { return to_half(double(a) * b + a); };
        const float low = fma(to_half(moderate(i, 1)), to_half(moderate(i, 3)));
        return low * 2 + fma(to_half(moderate(i, 2)), to_half(moderate(i, 4)));
      });
  compare<int>(
      "half compare",
      [] __device__(int i) {
        const __half a = __float2half(moderate(i, 1)), b = __float2half(moderate(i, 2));
        return int(__hlt(a, b)) + 2 * int(__hge(a, b)) + 4 * int(__heq(a, a));
      },
      [](int i) {
        const float a = to_half(moderate(i, 1)), b = to_half(moderate(i, 2));
        return int(a < b) + 2 * int(a >= b) + 4;
      });
  compare<float>(
      "bf16 round trip", [] __device__(int i) { return __bfloat162float(__float2bfloat16(moderate(i, 1))); },
      [](int i) { return to_bfloat(moderate(i, 1)); });
  compare<float>(
      "bf16 fma",
      [] __device__(int i) {
        const auto a = __float2bfloat16(moderate(i, 1)), b = __float2bfloat16(moderate(i, 2));
        return __bfloat162float(__hfma(a, b, a));
      },
      [](int i) {
        const double a = to_bfloat(moderate(i, 1)), b = to_bfloat(moderate(i, 2));
        return to_bfloat(a * b + a);
      });
  return g_failures;
}
