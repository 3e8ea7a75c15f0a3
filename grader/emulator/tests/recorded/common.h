// The differential suite's frame: kernels register, and a program records what they compute on a GPU or
// compares it with a recording.
//
//   program record                 a line a kernel: name, mode, type, results in hexadecimal
//   program compare RECORDING      exit code 1 when a result differs; names the kernel, the thread, want and
//   got
//
// Operands are the same everywhere: special values of the type first, then pseudo-random ones.
#pragma once
#include <cuda_runtime.h>

#include <cstring>

enum class Kind {
  s16,
  u16,
  b16,
  s32,
  u32,
  b32,
  s64,
  u64,
  b64,
  f32,
  f64,
  f16,
  bf16,
  f16x2,
  bf16x2,
  u16x2,
  s16x2
};

constexpr int kThreads = 128;

struct Registration {
  Registration(const char* name, const char* mode, Kind result, void (*kernel)(unsigned long long*),
               int shared_bytes = 0);
};

__device__ inline unsigned long long scramble(unsigned long long z) {
  z = (z + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return z ^ z >> 31;
}

template <class T, class U>
__device__ inline T as(U value) {
  T result;
  memcpy(&result, &value, sizeof result);
  return result;
}

__device__ inline unsigned special_f32(int k) {
  const unsigned table[] = {0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
                            0x7fc00000, 0xffc12345, 0x00000001, 0x807fffff, 0x00800000, 0x7f7fffff,
                            0xff7fffff, 0x3f000000, 0xbf000000, 0x40490fdb, 0x4b000001, 0xcb800000,
                            0x4f000000, 0xcf000000, 0x5f000000, 0x3effffff, 0x3f000001, 0x42fe0000};
  return table[k % 24];
}

__device__ inline unsigned long long special_f64(int k) {
  const unsigned long long table[] = {0,
                                      1ull << 63,
                                      0x3ff0000000000000,
                                      0xbff0000000000000,
                                      0x7ff0000000000000,
                                      0xfff0000000000000,
                                      0x7ff8000000000000,
                                      1,
                                      0x800fffffffffffff,
                                      0x0010000000000000,
                                      0x7fefffffffffffff,
                                      0x3fe0000000000000,
                                      0xc3e0000000000000,
                                      0x43e0000000000000,
                                      0x41dfffffffc00000,
                                      0xc1e0000000000000,
                                      0x36a0000000000000,
                                      0x47efffffe0000000};
  return table[k % 18];
}

__device__ inline unsigned special_f16(int k) {
  const unsigned table[] = {0x0000, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x0001,
                            0x83ff, 0x0400, 0x7bff, 0x3800, 0x3555, 0x4248, 0x6400, 0xe400};
  return table[k % 16];
}

__device__ inline unsigned special_bf16(int k) {
  return special_f32(k) >> 16 | (special_f32(k) & 0xffff ? 0u : 0u);
}

// The operand number `which` (1, 2, 3) of thread i: pairs of special values in the first half.
template <Kind kind>
__device__ inline auto operand(int i, int which) {
  const unsigned long long random = scramble(i * 4ull + which + (static_cast<int>(kind) << 20));
  const bool special = i < kThreads / 2;
  const int k = which == 1 ? i : which == 2 ? i / 3 + 5 * (i % 3) : i * 7 + 3;
  const long long integers[] = {0,
                                1,
                                -1,
                                2,
                                31,
                                32,
                                33,
                                63,
                                64,
                                255,
                                -128,
                                32767,
                                -32768,
                                65535,
                                0x7fffffff,
                                -0x7fffffffll - 1,
                                0xffffffffll,
                                0x7fffffffffffffffll,
                                -0x7fffffffffffffffll - 1,
                                12345};
  const long long integer = special ? integers[k % 20] : static_cast<long long>(random);
  if constexpr (kind == Kind::s16) return static_cast<short>(integer);
  if constexpr (kind == Kind::u16 || kind == Kind::b16) return static_cast<unsigned short>(integer);
  if constexpr (kind == Kind::s32) return static_cast<int>(integer);
  if constexpr (kind == Kind::u32 || kind == Kind::b32 || kind == Kind::u16x2 || kind == Kind::s16x2)
    return static_cast<unsigned>(integer);
  if constexpr (kind == Kind::s64) return integer;
  if constexpr (kind == Kind::u64 || kind == Kind::b64) return static_cast<unsigned long long>(integer);
  // Random floating-point operands lie near each other, so that sums and products are not all infinite.
  const unsigned near32 = 0x3b000000u + (static_cast<unsigned>(random) & 0x83ffffffu) % 0x88000000u;
  if constexpr (kind == Kind::f32) return as<float>(special ? special_f32(k) : near32);
  if constexpr (kind == Kind::f64)
    return as<double>(special ? special_f64(k) : (0x3f60000000000000ull + (random & 0x80efffffffffffffull)));
  const unsigned near16 = 0x3000u + (static_cast<unsigned>(random) & 0x8fff);
  if constexpr (kind == Kind::f16) return static_cast<unsigned short>(special ? special_f16(k) : near16);
  if constexpr (kind == Kind::bf16)
    return static_cast<unsigned short>(special ? special_bf16(k) : near32 >> 16);
  if constexpr (kind == Kind::f16x2)
    return special ? special_f16(k) << 16 | special_f16(k + 5) : near16 << 16 | (near16 ^ 0x0155);
  if constexpr (kind == Kind::bf16x2)
    return special ? special_bf16(k) << 16 | special_bf16(k + 5)
                   : (near32 & 0xffff0000u) | (near32 >> 16 ^ 0x0015);
}

// Arguments within which an approximation's error is documented.
__device__ inline float limited(float x) {
  return fabsf(x) < 0x1p126f && fabsf(x) > 0x1p-120f ? x : 3.0f;
}
__device__ inline float angle(float x) {
  return fabsf(x) <= 3.1415927f ? x : 1.0f;
}

template <class T>
__device__ inline unsigned long long bits_of(T value) {
  unsigned long long word = 0;
  memcpy(&word, &value, sizeof value);
  return word;
}
