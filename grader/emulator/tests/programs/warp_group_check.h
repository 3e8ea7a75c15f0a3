// What programs of wgmma have in common: operands, how the PTX ISA lays them out in shared memory, and results.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <vector>

#include "check.h"

// Lists of 32-bit registers, d0 to ..., and how a thread loads and stores them.
// clang-format off
#define QUAD(a, b, c, d) "d" #a ",d" #b ",d" #c ",d" #d
#define R4 QUAD(0, 1, 2, 3)
#define R8 R4 "," QUAD(4, 5, 6, 7)
#define R12 R8 "," QUAD(8, 9, 10, 11)
#define R16 R12 "," QUAD(12, 13, 14, 15)
#define R20 R16 "," QUAD(16, 17, 18, 19)
#define R24 R20 "," QUAD(20, 21, 22, 23)
#define R28 R24 "," QUAD(24, 25, 26, 27)
#define R32 R28 "," QUAD(28, 29, 30, 31)
#define R36 R32 "," QUAD(32, 33, 34, 35)
#define R40 R36 "," QUAD(36, 37, 38, 39)
#define R44 R40 "," QUAD(40, 41, 42, 43)
#define R48 R44 "," QUAD(44, 45, 46, 47)
#define R52 R48 "," QUAD(48, 49, 50, 51)
#define R56 R52 "," QUAD(52, 53, 54, 55)
#define R60 R56 "," QUAD(56, 57, 58, 59)
#define R64 R60 "," QUAD(60, 61, 62, 63)
#define R68 R64 "," QUAD(64, 65, 66, 67)
#define R72 R68 "," QUAD(68, 69, 70, 71)
#define R76 R72 "," QUAD(72, 73, 74, 75)
#define R80 R76 "," QUAD(76, 77, 78, 79)
#define R84 R80 "," QUAD(80, 81, 82, 83)
#define R88 R84 "," QUAD(84, 85, 86, 87)
#define R92 R88 "," QUAD(88, 89, 90, 91)
#define R96 R92 "," QUAD(92, 93, 94, 95)
#define R100 R96 "," QUAD(96, 97, 98, 99)
#define R104 R100 "," QUAD(100, 101, 102, 103)
#define R108 R104 "," QUAD(104, 105, 106, 107)
#define R112 R108 "," QUAD(108, 109, 110, 111)
#define R116 R112 "," QUAD(112, 113, 114, 115)
#define R120 R116 "," QUAD(116, 117, 118, 119)
#define R124 R120 "," QUAD(120, 121, 122, 123)
#define R128 R124 "," QUAD(124, 125, 126, 127)
// Register k of thread t lies at word 128 k + t.
#define LOAD1(a) "ld.global.b32 d" #a ",[p];add.u64 p,p,512;"
#define STORE1(a) "st.global.b32 [p],d" #a ";add.u64 p,p,512;"
#define ALL4(f) f(0) f(1) f(2) f(3)
#define ALL8(f) ALL4(f) f(4) f(5) f(6) f(7)
#define ALL12(f) ALL8(f) f(8) f(9) f(10) f(11)
#define ALL16(f) ALL12(f) f(12) f(13) f(14) f(15)
#define ALL20(f) ALL16(f) f(16) f(17) f(18) f(19)
#define ALL24(f) ALL20(f) f(20) f(21) f(22) f(23)
#define ALL28(f) ALL24(f) f(24) f(25) f(26) f(27)
#define ALL32(f) ALL28(f) f(28) f(29) f(30) f(31)
#define ALL36(f) ALL32(f) f(32) f(33) f(34) f(35)
#define ALL40(f) ALL36(f) f(36) f(37) f(38) f(39)
#define ALL44(f) ALL40(f) f(40) f(41) f(42) f(43)
#define ALL48(f) ALL44(f) f(44) f(45) f(46) f(47)
#define ALL52(f) ALL48(f) f(48) f(49) f(50) f(51)
#define ALL56(f) ALL52(f) f(52) f(53) f(54) f(55)
#define ALL60(f) ALL56(f) f(56) f(57) f(58) f(59)
#define ALL64(f) ALL60(f) f(60) f(61) f(62) f(63)
#define ALL68(f) ALL64(f) f(64) f(65) f(66) f(67)
#define ALL72(f) ALL68(f) f(68) f(69) f(70) f(71)
#define ALL76(f) ALL72(f) f(72) f(73) f(74) f(75)
#define ALL80(f) ALL76(f) f(76) f(77) f(78) f(79)
#define ALL84(f) ALL80(f) f(80) f(81) f(82) f(83)
#define ALL88(f) ALL84(f) f(84) f(85) f(86) f(87)
#define ALL92(f) ALL88(f) f(88) f(89) f(90) f(91)
#define ALL96(f) ALL92(f) f(92) f(93) f(94) f(95)
#define ALL100(f) ALL96(f) f(96) f(97) f(98) f(99)
#define ALL104(f) ALL100(f) f(100) f(101) f(102) f(103)
#define ALL108(f) ALL104(f) f(104) f(105) f(106) f(107)
#define ALL112(f) ALL108(f) f(108) f(109) f(110) f(111)
#define ALL116(f) ALL112(f) f(112) f(113) f(114) f(115)
#define ALL120(f) ALL116(f) f(116) f(117) f(118) f(119)
#define ALL124(f) ALL120(f) f(120) f(121) f(122) f(123)
#define ALL128(f) ALL124(f) f(124) f(125) f(126) f(127)
// clang-format on

enum class Type { f16, bf16, tf32, e4m3, e5m2, s8, u8, b1 };
enum class Sum { f32, f16, s32 };

inline int bits_of(Type t) {
  return t == Type::b1 ? 1 : t == Type::tf32 ? 32 : t == Type::f16 || t == Type::bf16 ? 16 : 8;
}

constexpr uint32_t kPlaceOfB = 16384, kImageBytes = kPlaceOfB + 32768 + 1024;

inline uint32_t encoded(Type t, int k, int salt, double& value) {
  const int small = int(bits_of(k, salt) % 15) - 7;
  switch (t) {
    case Type::f16:
      value = small / 8.0;
      return __half_as_ushort(__float2half(float(value)));
    case Type::bf16:
      value = small / 4.0;
      return __bfloat16_as_ushort(__float2bfloat16(float(value)));
    case Type::tf32: {
      value = small / 16.0;
      const float f = float(value);
      uint32_t word;
      std::memcpy(&word, &f, 4);
      return word | 0x155;  // what does not take part
    }
    case Type::e4m3:
    case Type::e5m2: {
      value = small / 2.0;
      if (t == Type::e5m2) value = small / 2 / 2.0;  // two bits of mantissa
      if (t == Type::e5m2 && (small / 2 == 3 || small / 2 == -3)) value = 1.5;
      return __nv_cvt_float_to_fp8(float(value), __NV_SATFINITE, t == Type::e4m3 ? __NV_E4M3 : __NV_E5M2);
    }
    case Type::s8:
      value = double(int8_t(bits_of(k, salt)));
      return uint8_t(int8_t(value));
    case Type::u8:
      value = double(uint8_t(bits_of(k, salt)));
      return uint8_t(value);
    default:
      value = double(bits_of(k, salt) >> 7 & 1);
      return uint32_t(value);
  }
}

struct Operand {
  std::vector<double> value;  // outer x k
  std::vector<uint32_t> code;
  int outer, k;
  // `bytes` of each row or column lie along k.
  Operand(Type t, int outer_count, int salt, int bytes = 32)
      : outer(outer_count), k(bytes * 8 / ::bits_of(t)) {
    for (int i = 0; i < outer * k; ++i) {
      value.push_back(0);
      code.push_back(encoded(t, i, salt, value.back()));
    }
  }
};

inline void put(std::vector<uint8_t>& image, size_t byte, uint32_t code, int bits, int within) {
  if (bits >= 8) {
    std::memcpy(&image[byte], &code, size_t(bits / 8));
  } else {
    image[byte] = uint8_t(image[byte] | (code & 1) << within);
  }
}

// How the PTX ISA lays a matrix out: core matrices of eight rows of 16 bytes; swizzled, the rows lie in lines
// of `line` bytes whose 16-byte pieces are exchanged by the number of the line in 128-byte steps.
struct Layout {
  uint32_t line;  // 16: no swizzle
  uint32_t leading, stride;
  uint32_t advance;  // bytes by which the start lies behind the pattern's
};

inline uint64_t descriptor(uint32_t offset, const Layout& l) {
  const uint64_t mode = l.line == 128 ? 1 : l.line == 64 ? 2 : l.line == 32 ? 3 : 0;
  return uint64_t((offset + l.advance) >> 4) | uint64_t(l.leading >> 4) << 16 |
         uint64_t(l.stride >> 4) << 32 | mode << 62;
}

inline uint32_t swizzled(uint32_t address, uint32_t line) {
  const uint32_t exchanged = line == 128 ? 7 : line == 64 ? 3 : line == 32 ? 1 : 0;
  return address ^ ((address >> 7 & exchanged) << 4);
}

inline void lay_out(std::vector<uint8_t>& image, uint32_t offset, const Operand& x, Type t, bool across,
                    const Layout& l) {
  const int bits = ::bits_of(t);
  for (int o = 0; o < x.outer; ++o) {
    for (int k = 0; k < x.k; ++k) {
      uint32_t at;
      if (!across) {
        const uint32_t byte = uint32_t(k) * uint32_t(bits) / 8, piece = byte / 16;
        at = uint32_t(o % 8) * l.line + uint32_t(o / 8) * l.stride + byte % 16 +
             (l.line == 16 ? piece * l.leading : piece * 16);
      } else if (l.line == 16) {
        at = uint32_t(o / 8) * l.stride + uint32_t(k / 8) * l.leading + uint32_t(k % 8) * 16 +
             uint32_t(o % 8) * 2;
      } else {
        const uint32_t in_line = l.line / 2;
        at = uint32_t(o) / in_line * l.leading + uint32_t(o) % in_line * 2 + uint32_t(k % 8) * l.line +
             uint32_t(k / 8) * l.stride;
      }
      put(image, swizzled(offset + l.advance + at, l.line), x.code[size_t(o * x.k + k)], bits,
          bits < 8 ? k % 8 : 0);
    }
  }
}

// `groups`: of 16 bytes along k, or of eight k.
inline Layout layout_of(uint32_t line, bool across, int outer, int variant, uint32_t groups = 2) {
  if (!across && line == 16)
    return variant == 0 ? Layout{16, 128, 128 * groups, 0} : Layout{16, uint32_t(outer) * 16, 128, 0};
  if (!across) {
    const uint32_t half = groups * 16 < line && variant == 1 ? line / 2 : 0;
    return {line, 16, line * 8, half};
  }
  if (line == 16)
    return variant == 0 ? Layout{16, uint32_t(outer) * 16, 128, 0} : Layout{16, 128, 128 * groups, 0};
  return variant == 0 ? Layout{line, line * 8 * groups, line * 8, 0}
                      : Layout{line, line * 8, line * 8 * ((uint32_t(outer) * 2 + line - 1) / line), 0};
}

inline double rounded(double value, Sum sum) {
  return sum == Sum::f16 ? double(__half2float(__float2half(float(value)))) : value;
}

// Where an element of the result lies: word and half of a thread's registers.
inline double& cell(std::vector<double>& d, int n, int thread, int register_pair, int part) {
  const int row = thread / 32 * 16 + thread % 32 / 4 + register_pair % 2 * 8;
  return d[size_t(row * n + register_pair / 2 * 8 + thread % 4 * 2 + part)];
}

inline std::vector<double> read_result(const std::vector<uint32_t>& words, int n, Sum sum) {
  std::vector<double> d(size_t(64 * n));
  for (int t = 0; t < 128; ++t) {
    for (int e = 0; e < n / 2; ++e) {
      const uint32_t word = words[size_t((sum == Sum::f16 ? e / 2 : e) * 128 + t)];
      double value = double(int32_t(word));
      if (sum == Sum::f32) {
        float f;
        std::memcpy(&f, &word, 4);
        value = f;
      } else if (sum == Sum::f16) {
        value = __half2float(__ushort_as_half(uint16_t(word >> 16 * (e % 2))));
      }
      cell(d, n, t, e / 2, e % 2) = value;
    }
  }
  return d;
}

inline std::vector<uint32_t> start_words(int n, Sum sum) {
  std::vector<uint32_t> words(size_t(128 * n / 2));
  for (size_t k = 0; k < words.size(); ++k) {
    const float f = float(int(::bits_of(int(k), 17) % 33)) - 16;
    if (sum == Sum::s32) {
      words[k] = uint32_t(int32_t(f) * 1000);
    } else if (sum == Sum::f16) {
      words[k] = uint32_t(__half_as_ushort(__float2half(f))) * 0x10001u;
    } else {
      std::memcpy(&words[k], &f, 4);
    }
  }
  return words;
}

// A as mma.sync's fragments, register k of thread t at word 128 k + t.
inline std::vector<uint32_t> fragments(const Operand& a, Type t) {
  const int bits = ::bits_of(t), packed = 32 / bits;
  std::vector<uint32_t> words(512);
  for (int thread = 0; thread < 128; ++thread) {
    for (int r = 0; r < 4; ++r) {
      const int row = thread / 32 * 16 + thread % 32 / 4 + r % 2 * 8;
      for (int e = 0; e < packed; ++e) {
        const int k = (r / 2 * 4 + thread % 4) * packed + e;
        words[size_t(r * 128 + thread)] |= a.code[size_t(row * a.k + k)] << bits * e;
      }
    }
  }
  return words;
}
