// Operations on parts of a register: SIMD intrinsics and video instructions, min-max-plus (DPX) forms, dot
// products, bit searches, comparisons and saturation of halves, 8-bit floats.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>

#include "check.h"

__host__ __device__ uint32_t word_of(int i, int salt) {
  return uint32_t(bits_of(i, salt) >> (i % 3 * 8));
}

// The host's model: f(a, b) on each part, kept in its width.
template <class Part, class F>
uint32_t by_part(uint32_t a, uint32_t b, F f) {
  constexpr int bits = 8 * sizeof(Part);
  uint32_t result = 0;
  for (int k = 0; k < 32; k += bits) {
    const auto part = uint32_t(f(int(Part(a >> k)), int(Part(b >> k))));
    result |= (part & ((1ull << bits) - 1)) << k;
  }
  return result;
}

template <class Part>
int clamp_to(int v) {
  return std::min(std::max(v, int(std::numeric_limits<Part>::min())), int(std::numeric_limits<Part>::max()));
}

#define PARTS(Part, device_call, host_expression)                                                         \
  compare<uint32_t>(                                                                                      \
      #device_call, [] __device__(int i) { return uint32_t(device_call(word_of(i, 1), word_of(i, 2))); }, \
      [](int i) {                                                                                         \
        return by_part<Part>(word_of(i, 1), word_of(i, 2), [](int a, int b) { return host_expression; }); \
      })

void check_simd_intrinsics() {
  PARTS(uint16_t, __vadd2, a + b);
  PARTS(uint8_t, __vadd4, a + b);
  PARTS(int16_t, __vaddss2, clamp_to<int16_t>(a + b));
  PARTS(uint8_t, __vaddus4, clamp_to<uint8_t>(a + b));
  PARTS(uint16_t, __vsub2, a - b);
  PARTS(int8_t, __vsubss4, clamp_to<int8_t>(a - b));
  PARTS(uint8_t, __vabsdiffu4, std::abs(a - b));
  PARTS(int16_t, __vabsdiffs2, std::abs(a - b));
  PARTS(int16_t, __vmins2, std::min(a, b));
  PARTS(uint8_t, __vmaxu4, std::max(a, b));
  PARTS(uint16_t, __vmaxu2, std::max(a, b));
  PARTS(uint8_t, __vavgu4, (a + b + 1) >> 1);
  PARTS(uint16_t, __vcmpgtu2, a > b ? -1 : 0);
  PARTS(int8_t, __vcmples4, a <= b ? -1 : 0);
  PARTS(uint16_t, __vseteq2, a == b ? 1 : 0);
  compare<uint32_t>(
      "__vsadu4", [] __device__(int i) { return __vsadu4(word_of(i, 1), word_of(i, 2)); },
      [](int i) {
        uint32_t sum = 0;
        for (int k = 0; k < 32; k += 8)
          sum += uint32_t(std::abs(int(word_of(i, 1) >> k & 255) - int(word_of(i, 2) >> k & 255)));
        return sum;
      });
}

#define VIDEO(Part, instruction, host_expression)                                                         \
  compare<uint32_t>(                                                                                      \
      instruction,                                                                                        \
      [] __device__(int i) {                                                                              \
        uint32_t d;                                                                                       \
        asm(instruction " %0, %1, %2, %3;" : "=r"(d) : "r"(word_of(i, 1)), "r"(word_of(i, 2)), "r"(0));   \
        return d;                                                                                         \
      },                                                                                                  \
      [](int i) {                                                                                         \
        return by_part<Part>(word_of(i, 1), word_of(i, 2), [](int a, int b) { return host_expression; }); \
      })

void check_video_instructions() {
  VIDEO(uint8_t, "vadd4.u32.u32.u32.sat", clamp_to<uint8_t>(a + b));
  VIDEO(int16_t, "vsub2.s32.s32.s32.sat", clamp_to<int16_t>(a - b));
  VIDEO(int8_t, "vavrg4.s32.s32.s32", (a + b + (a + b >= 0 ? 1 : 0)) >> 1);
  VIDEO(int16_t, "vmin2.s32.s32.s32", std::min(a, b));
  VIDEO(int8_t, "vmax4.s32.s32.s32", std::max(a, b));
  VIDEO(int8_t, "vset4.s32.s32.lt", a < b);
  compare<uint32_t>(
      "vset2.add",
      [] __device__(int i) {
        uint32_t d;
        asm("vset2.u32.u32.ge.add %0, %1, %2, %3;"
            : "=r"(d)
            : "r"(word_of(i, 1)), "r"(word_of(i, 2)), "r"(i));
        return d;
      },
      [](int i) {
        const uint32_t a = word_of(i, 1), b = word_of(i, 2);
        return uint32_t(i) + uint32_t((a & 0xffff) >= (b & 0xffff)) + uint32_t(a >> 16 >= b >> 16);
      });
}

void check_min_max_plus() {
  const auto s = [](int i, int salt) { return int64_t(int32_t(word_of(i, salt))); };
  const auto sum = [=](int i) { return int64_t(int32_t(word_of(i, 1) + word_of(i, 2))); };
  compare<int>(
      "__viaddmin_s32",
      [] __device__(int i) {
        return __viaddmin_s32(int(word_of(i, 1)), int(word_of(i, 2)), int(word_of(i, 3)));
      },
      [=](int i) { return int(std::min(sum(i), s(i, 3))); });
  compare<int>(
      "__viaddmax_s32_relu",
      [] __device__(int i) {
        return __viaddmax_s32_relu(int(word_of(i, 1)), int(word_of(i, 2)), int(word_of(i, 3)));
      },
      [=](int i) {
        return int(std::max<int64_t>({sum(i), s(i, 3), 0}));
      });
  compare<int>(
      "__vimin3_s32",
      [] __device__(int i) {
        return __vimin3_s32(int(word_of(i, 1)), int(word_of(i, 2)), int(word_of(i, 3)));
      },
      [=](int i) {
        return int(std::min({s(i, 1), s(i, 2), s(i, 3)}));
      });
  compare<int>(
      "__vimin_s32_relu",
      [] __device__(int i) { return __vimin_s32_relu(int(word_of(i, 1)), int(word_of(i, 2))); },
      [=](int i) { return int(std::max<int64_t>(std::min(s(i, 1), s(i, 2)), 0)); });
  compare<int>(
      "__vibmax_s32",
      [] __device__(int i) {
        bool first;
        const int larger = __vibmax_s32(int(word_of(i, 1)), int(word_of(i, 2)), &first);
        return larger ^ int(first);
      },
      [=](int i) { return int(std::max(s(i, 1), s(i, 2))) ^ int(s(i, 1) >= s(i, 2)); });
}

void check_min_max_plus_of_pairs() {
  const auto pairs = [](int i, auto f) {
    uint32_t result = 0;
    for (int k = 0; k < 32; k += 16) {
      const auto part = [&](int salt) { return int(int16_t(word_of(i, salt) >> k)); };
      result |= uint32_t(uint16_t(f(part(1), part(2), part(3)))) << k;
    }
    return result;
  };
  compare<uint32_t>(
      "__viaddmax_s16x2",
      [] __device__(int i) { return __viaddmax_s16x2(word_of(i, 1), word_of(i, 2), word_of(i, 3)); },
      [=](int i) { return pairs(i, [](int a, int b, int c) { return std::max(int(int16_t(a + b)), c); }); });
  compare<uint32_t>(
      "__vimin3_s16x2_relu",
      [] __device__(int i) { return __vimin3_s16x2_relu(word_of(i, 1), word_of(i, 2), word_of(i, 3)); },
      [=](int i) { return pairs(i, [](int a, int b, int c) {
                     return std::max(std::min({a, b, c}), 0);
                   }); });
  compare<uint32_t>(
      "__viaddmin_u16x2",
      [] __device__(int i) { return __viaddmin_u16x2(word_of(i, 1), word_of(i, 2), word_of(i, 3)); },
      [=](int i) {
        return pairs(i, [](int a, int b, int c) { return std::min(uint16_t(a + b), uint16_t(c)); });
      });
}

void check_bits() {
  compare<int>(
      "dp2a",
      [] __device__(int i) {
        return __dp2a_lo(int(word_of(i, 1)), int(word_of(i, 2)), i) ^
               int(__dp2a_hi(word_of(i, 1), word_of(i, 2), unsigned(i)));
      },
      [](int i) {
        const uint32_t a = word_of(i, 1), b = word_of(i, 2);
        const int low = i + int16_t(a) * int8_t(b) + int16_t(a >> 16) * int8_t(b >> 8);
        const uint32_t high = uint32_t(i) + (a & 0xffff) * (b >> 16 & 255) + (a >> 16) * (b >> 24);
        return low ^ int(high);
      });
  compare<unsigned>(
      "fns", [] __device__(int i) { return __fns(word_of(i, 1), unsigned(i % 32), i % 9 - 4); },
      [](int i) {
        const uint32_t mask = word_of(i, 1);
        const int offset = i % 9 - 4, step = offset < 0 ? -1 : 1;
        int at = i % 32, found = 0;
        if (offset == 0) return mask >> at & 1 ? unsigned(at) : ~0u;
        for (; at >= 0 && at < 32; at += step) {
          found += int(mask >> at & 1);
          if (found == std::abs(offset)) return unsigned(at);
        }
        return ~0u;
      });
  compare<int>(
      "szext",
      [] __device__(int i) {
        int clamped, wrapped;
        asm("szext.clamp.s32 %0, %1, %2;" : "=r"(clamped) : "r"(word_of(i, 1)), "r"(i % 40));
        asm("szext.wrap.u32 %0, %1, %2;" : "=r"(wrapped) : "r"(word_of(i, 1)), "r"(i % 40));
        return clamped ^ wrapped * 3;
      },
      [](int i) {
        const uint32_t a = word_of(i, 1);
        const int n = std::min(i % 40, 32), m = i % 40 % 32;
        const int clamped = n == 0 ? 0 : int(int64_t(uint64_t(a) << (64 - n)) >> (64 - n));
        return clamped ^ int((m == 0 ? 0 : a & ((1u << m) - 1)) * 3);
      });
}

// Halves of every kind: NaN, infinities, equal ones.
__host__ __device__ float half_value(int i, int salt) {
  return i % 5 == 0 ? float_of(i, 1) : float_of(i, salt);
}

void check_halves() {
  compare<uint32_t>(
      "packed half comparisons",
      [] __device__(int i) {
        const __half2 a = __floats2half2_rn(half_value(i, 1), half_value(i, 2));
        const __half2 b = __floats2half2_rn(half_value(i, 3), half_value(i, 4));
        const __half2 numbers = __hne2(a, b);
        return __hle2_mask(a, b) ^ (__hgtu2_mask(a, b) >> 1) ^ (uint32_t(__low2float(numbers)) << 3) ^
               (uint32_t(__high2float(__hisnan2(a))) << 5) ^ (uint32_t(__hblt2(a, b)) << 9);
      },
      [](int i) {
        const auto round = [](float v) { return __half2float(__float2half(v)); };
        const float a[2] = {round(half_value(i, 1)), round(half_value(i, 2))};
        const float b[2] = {round(half_value(i, 3)), round(half_value(i, 4))};
        uint32_t le = 0, gtu = 0;
        for (int k = 0; k < 2; ++k) {
          le |= (a[k] <= b[k] ? 0xffffu : 0u) << 16 * k;
          gtu |= (!(a[k] <= b[k]) ? 0xffffu : 0u) << 16 * k;
        }
        const bool ne = a[0] < b[0] || a[0] > b[0];
        return le ^ (gtu >> 1) ^ (uint32_t(ne) << 3) ^ (uint32_t(std::isnan(a[1])) << 5) ^
               (uint32_t(a[0] < b[0] && a[1] < b[1]) << 9);
      });
  compare<int>(
      "flushed half subnormals",
      [] __device__(int i) {
        unsigned short kept, flushed, fused;  // 2^-10 times 2^-k: subnormal for k > 4
        const auto a = (unsigned short)(5 << 10), b = (unsigned short)((15 - i % 8) << 10);
        asm("mul.f16 %0, %1, %2;" : "=h"(kept) : "h"(a), "h"(b));
        asm("mul.ftz.f16 %0, %1, %2;" : "=h"(flushed) : "h"(a), "h"(b));
        asm("fma.rn.ftz.f16 %0, %1, %2, %3;" : "=h"(fused) : "h"(a), "h"(b), "h"((unsigned short)1));
        return kept | int(flushed != 0) << 16 | int(fused != 0) << 17;
      },
      [](int i) {
        const int k = i % 8;
        const int kept = k <= 4 ? (5 - k) << 10 : 1 << (14 - k);
        return kept | (k <= 4 ? 3 << 16 : 0);
      });
  compare<float>(
      "saturating half sum",
      [] __device__(int i) {
        return __half2float(__hadd_sat(__float2half(half_value(i, 1)), __float2half(half_value(i, 2))));
      },
      [](int i) {
        const float sum =
            __half2float(__float2half(half_value(i, 1))) + __half2float(__float2half(half_value(i, 2)));
        return __half2float(__float2half(sum > 0 ? std::min(sum, 1.0f) : 0.0f));
      });
}

// 8-bit floats by their tables: the nearest of all values, the even one of two, clamped to the largest.
float value_of_float8(int bits, bool e4m3) {
  const int mantissa_bits = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15;
  const int mantissa = bits & ((1 << mantissa_bits) - 1), exponent = (bits & 127) >> mantissa_bits;
  const float fraction = float(mantissa) / float(1 << mantissa_bits);
  const float magnitude =
      exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
  return bits & 128 ? -magnitude : magnitude;
}

int nearest_float8(float v, bool e4m3) {
  if (std::isnan(v)) return 0x7f;
  const int sign = std::signbit(v) ? 128 : 0, largest = e4m3 ? 0x7e : 0x7b;
  if (std::fabs(v) >= value_of_float8(largest, e4m3)) return sign | largest;
  int best = 0;
  double least = INFINITY;
  for (int bits = 0; bits <= largest; ++bits) {
    const double distance = std::fabs(std::fabs(double(v)) - double(value_of_float8(bits, e4m3)));
    if (distance < least || (distance == least && bits % 2 == 0)) {
      best = bits;
      least = distance;
    }
  }
  return sign | best;
}

void check_float8() {
  compare<int>(
      "to e4m3 and e5m2",
      [] __device__(int i) {
        return int(__nv_cvt_float_to_fp8(float_of(i, 1), __NV_SATFINITE, __NV_E4M3)) |
               int(__nv_cvt_float_to_fp8(float_of(i, 2), __NV_SATFINITE, __NV_E5M2)) << 8;
      },
      [](int i) {
        return nearest_float8(float_of(i, 1), true) | nearest_float8(float_of(i, 2), false) << 8;
      });
  compare<float>(
      "from e4m3 and e5m2",
      [] __device__(int i) {
        const __half_raw a = __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t(i % 126), __NV_E4M3);
        const __half_raw b = __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t(128 + i % 123), __NV_E5M2);
        return __half2float(__half(a)) + 3 * __half2float(__half(b));
      },
      [](int i) { return value_of_float8(i % 126, true) + 3 * value_of_float8(128 + i % 123, false); });
}

int main() {
  check_simd_intrinsics();
  check_video_instructions();
  check_min_max_plus();
  check_min_max_plus_of_pairs();
  check_bits();
  check_halves();
  check_float8();
  return g_failures;
}
