// Single numbers of a declared lab's types in memory, the same on the host and on a GPU: nothing here is
// rounded but by the types themselves.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

// As warpgrade/datasets/mix_bits.h has it; this library is built without the datasets'.
#ifdef __CUDACC__
#define WARPGRADE_HOST_DEVICE __host__ __device__
#else
#define WARPGRADE_HOST_DEVICE
#endif

namespace warpgrade::declaration {

enum class Scalar {
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFp16,
  kBf16,
  kFp32,
  kFp64
};

// What facts() says too; a kernel cannot ask there.
WARPGRADE_HOST_DEVICE constexpr bool is_floating(Scalar type) {
  return type >= Scalar::kFp16;
}
WARPGRADE_HOST_DEVICE constexpr std::size_t bytes_of(Scalar type) {
  switch (type) {
    case Scalar::kInt8:
    case Scalar::kUint8:
      return 1;
    case Scalar::kInt16:
    case Scalar::kUint16:
    case Scalar::kFp16:
    case Scalar::kBf16:
      return 2;
    case Scalar::kInt32:
    case Scalar::kUint32:
    case Scalar::kFp32:
      return 4;
    default:
      return 8;
  }
}

// A number at a multiple of its size.
template <typename T>
WARPGRADE_HOST_DEVICE inline T load_number(const std::byte* at) {
#ifdef __CUDA_ARCH__
  return *reinterpret_cast<const T*>(at);
#else
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
#endif
}
template <typename T>
WARPGRADE_HOST_DEVICE inline void store_number(T value, std::byte* at) {
#ifdef __CUDA_ARCH__
  *reinterpret_cast<T*>(at) = value;
#else
  std::memcpy(at, &value, sizeof value);
#endif
}

WARPGRADE_HOST_DEVICE inline std::uint64_t bits_of_double(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
WARPGRADE_HOST_DEVICE inline double double_of_bits(std::uint64_t bits) {
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
// 2^exponent, for exponents of normal numbers.
WARPGRADE_HOST_DEVICE inline double power_of_two(int exponent) {
  return double_of_bits(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// ---- 16-bit formats with a sign, `exponent_bits` and the rest of significand ----

WARPGRADE_HOST_DEVICE inline double small_value(std::uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  double magnitude = 0;
  if (exponent == (1 << exponent_bits) - 1)
    magnitude = double_of_bits(fraction == 0 ? 0x7ff0000000000000ull : 0x7ff8000000000000ull);
  else if (exponent == 0)
    magnitude = fraction * power_of_two(1 - bias - fraction_bits);
  else
    magnitude = (fraction + (1 << fraction_bits)) * power_of_two(exponent - bias - fraction_bits);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// To nearest, ties to even (IEEE 754).
WARPGRADE_HOST_DEVICE inline std::uint16_t small_bits(double value, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const std::int64_t infinity = std::int64_t{(1 << exponent_bits) - 1} << fraction_bits;
  const std::uint64_t bits = bits_of_double(value), fraction = bits & 0xfffffffffffffull;
  const std::uint16_t sign = (bits >> 63) != 0 ? 0x8000 : 0;
  const int field = static_cast<int>((bits >> 52) & 0x7ff);
  if (field == 0) return sign;  // 0, and what is far below either format
  std::int64_t small = infinity;
  if (field == 0x7ff) {
    if (fraction != 0) small |= std::int64_t{1} << (fraction_bits - 1);
    return static_cast<std::uint16_t>(sign | small);
  }
  const int exponent = field - 1023;  // magnitude in [2^exponent, 2^(exponent + 1))
  const std::uint64_t significand = fraction | (std::uint64_t{1} << 52);
  const int unit = (exponent > 1 - bias ? exponent : 1 - bias) - fraction_bits;  // of the last place
  const int dropped = unit - (exponent - 52);
  if (dropped > 53) return sign;  // below half of the last place
  std::uint64_t steps = significand >> dropped;
  const std::uint64_t rest = significand & ((std::uint64_t{1} << dropped) - 1);
  const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
  if (rest > half || (rest == half && (steps & 1) != 0)) ++steps;
  // Steps count from the subnormal numbers through all binades: carries go where they should.
  const int biased = unit + fraction_bits + bias;  // of the first number of this binade; 1: subnormal too
  small = (std::int64_t{biased - 1} << fraction_bits) + static_cast<std::int64_t>(steps);
  return static_cast<std::uint16_t>(sign | (small < infinity ? small : infinity));
}

WARPGRADE_HOST_DEVICE inline double half_value(std::uint16_t bits) {
  return small_value(bits, 5);
}
WARPGRADE_HOST_DEVICE inline double bfloat_value(std::uint16_t bits) {
  return small_value(bits, 8);
}
WARPGRADE_HOST_DEVICE inline std::uint16_t half_bits(double value) {
  return small_bits(value, 5);
}
WARPGRADE_HOST_DEVICE inline std::uint16_t bfloat_bits(double value) {
  return small_bits(value, 8);
}

// ---- numbers of any type ----

WARPGRADE_HOST_DEVICE inline std::int64_t read_integer(Scalar type, const std::byte* at) {
  switch (type) {
    case Scalar::kInt8:
      return load_number<std::int8_t>(at);
    case Scalar::kUint8:
      return load_number<std::uint8_t>(at);
    case Scalar::kInt16:
      return load_number<std::int16_t>(at);
    case Scalar::kUint16:
      return load_number<std::uint16_t>(at);
    case Scalar::kInt32:
      return load_number<std::int32_t>(at);
    case Scalar::kUint32:
      return load_number<std::uint32_t>(at);
    default:
      return load_number<std::int64_t>(at);
  }
}

// As double: exact for all but 64-bit integers beyond 2^53.
WARPGRADE_HOST_DEVICE inline double read_real(Scalar type, const std::byte* at) {
  switch (type) {
    case Scalar::kFp16:
      return half_value(load_number<std::uint16_t>(at));
    case Scalar::kBf16:
      return bfloat_value(load_number<std::uint16_t>(at));
    case Scalar::kFp32:
      return load_number<float>(at);
    case Scalar::kFp64:
      return load_number<double>(at);
    case Scalar::kUint64:
      return static_cast<double>(load_number<std::uint64_t>(at));
    default:
      return static_cast<double>(read_integer(type, at));
  }
}

// Of integers; uint64 as its bits.
WARPGRADE_HOST_DEVICE inline std::int64_t read_whole(Scalar type, const std::byte* at) {
  return is_floating(type) ? static_cast<std::int64_t>(read_real(type, at)) : read_integer(type, at);
}

WARPGRADE_HOST_DEVICE inline void write_integer(Scalar type, std::int64_t value, std::byte* at) {
  switch (bytes_of(type)) {  // the low bytes are the number in every type
    case 1:
      return store_number(static_cast<std::uint8_t>(value), at);
    case 2:
      return store_number(static_cast<std::uint16_t>(value), at);
    case 4:
      return store_number(static_cast<std::uint32_t>(value), at);
    default:
      return store_number(value, at);
  }
}

// Rounded to nearest, ties to even; integers are given whole.
WARPGRADE_HOST_DEVICE inline void write_real(Scalar type, double value, std::byte* at) {
  switch (type) {
    case Scalar::kFp16:
      return store_number(half_bits(value), at);
    case Scalar::kBf16:
      return store_number(bfloat_bits(value), at);
    case Scalar::kFp32:
      return store_number(static_cast<float>(value), at);
    case Scalar::kFp64:
      return store_number(value, at);
    default:
      return write_integer(type, static_cast<std::int64_t>(std::floor(value)), at);
  }
}

WARPGRADE_HOST_DEVICE inline void write_whole(Scalar type, std::int64_t value, std::byte* at) {
  if (is_floating(type)) return write_real(type, static_cast<double>(value), at);
  write_integer(type, value, at);
}

// Numbers of a floating-point type in order: neighbours differ by one, -0 and +0 are the same. NaN: any.
WARPGRADE_HOST_DEVICE inline std::int64_t float_rank(Scalar type, const std::byte* at) {
  const int width = 8 * static_cast<int>(bytes_of(type));
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  std::uint64_t bits = 0;
  switch (width) {
    case 16:
      bits = load_number<std::uint16_t>(at);
      break;
    case 32:
      bits = load_number<std::uint32_t>(at);
      break;
    default:
      bits = load_number<std::uint64_t>(at);
  }
  const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

}  // namespace warpgrade::declaration
