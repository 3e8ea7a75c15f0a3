#include "judge/declaration/element_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace warpgrade::declaration {
namespace {

const std::vector<ScalarFacts>& table() {
  static const std::vector<ScalarFacts> facts = {
      {"int8", "signed char", "<i1", 1, false, true, 0, {"int8_t", "std::int8_t", "char"}},
      {"uint8", "unsigned char", "<u1", 1, false, false, 0, {"uint8_t", "std::uint8_t"}},
      {"int16", "short", "<i2", 2, false, true, 0, {"int16_t", "std::int16_t"}},
      {"uint16", "unsigned short", "<u2", 2, false, false, 0, {"uint16_t", "std::uint16_t"}},
      {"int32", "int", "<i4", 4, false, true, 0, {"int32_t", "std::int32_t"}},
      {"uint32", "unsigned", "<u4", 4, false, false, 0, {"unsigned int", "uint32_t", "std::uint32_t"}},
      {"int64",
       "long long",
       "<i8",
       8,
       false,
       true,
       0,
       {"long long int", "long", "int64_t", "std::int64_t", "ptrdiff_t", "std::ptrdiff_t"}},
      {"uint64",
       "unsigned long long",
       "<u8",
       8,
       false,
       false,
       0,
       {"unsigned long long int", "unsigned long", "uint64_t", "std::uint64_t", "size_t", "std::size_t"}},
      {"fp16", "__half", "<f2", 2, true, true, 11, {"half"}},
      {"bf16", "__nv_bfloat16", "<f4", 2, true, true, 8, {"nv_bfloat16"}},
      {"fp32", "float", "<f4", 4, true, true, 24, {}},
      {"fp64", "double", "<f8", 8, true, true, 53, {}},
  };
  return facts;
}

template <typename T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename T>
void write(T value, std::byte* at) {
  std::memcpy(at, &value, sizeof value);
}

// The value of a 16-bit format with a sign, `exponent_bits` and the rest of significand.
double small_value(std::uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  double magnitude = 0;
  if (exponent == (1 << exponent_bits) - 1)
    magnitude =
        fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    magnitude = std::ldexp(fraction, 1 - bias - fraction_bits);
  else
    magnitude = std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// To nearest, ties to even (IEEE 754).
std::uint16_t small_bits(double value, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int infinity = ((1 << exponent_bits) - 1) << fraction_bits;
  const unsigned sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value))
    return static_cast<std::uint16_t>(sign | unsigned(infinity) | 1u << (fraction_bits - 1));
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return static_cast<std::uint16_t>(sign);
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude in [2^(exponent-1), 2^exponent)
  if (std::isinf(magnitude) || exponent > bias + 2)
    return static_cast<std::uint16_t>(sign | unsigned(infinity));
  const int unit = std::max(exponent - 1, 1 - bias) - fraction_bits;  // the exponent of the last place
  const double steps = std::nearbyint(std::ldexp(magnitude, -unit));  // ties to even; exact before
  // Steps count from the subnormal numbers through all binades: carries go where they should.
  const int biased = unit + fraction_bits + bias;  // of the first number of this binade; 1: subnormal too
  const std::int64_t bits = (std::int64_t(biased - 1) << fraction_bits) + static_cast<std::int64_t>(steps);
  return static_cast<std::uint16_t>(sign | unsigned(std::min<std::int64_t>(bits, infinity)));
}

}  // namespace

const ScalarFacts& facts(Scalar type) {
  return table()[static_cast<std::size_t>(type)];
}

const std::vector<Scalar>& all_scalars() {
  static const std::vector<Scalar> all = [] {
    std::vector<Scalar> list;
    for (std::size_t i = 0; i < table().size(); ++i) list.push_back(static_cast<Scalar>(i));
    return list;
  }();
  return all;
}

std::string ElementType::c_type() const {
  return is_structure ? name : facts(fields.front().type).c_type;
}

bool ElementType::is_spelled(const std::string& spelled) const {
  if (spelled == c_type()) return true;
  if (is_structure) return false;
  const auto& others = facts(fields.front().type).c_names;
  return std::find(others.begin(), others.end(), spelled) != others.end();
}

ElementType element_of(Scalar type) {
  return {facts(type).name, {{"", type, 0}}, facts(type).bytes, false};
}

ElementType structure_of(const std::string& name, std::vector<Field> fields) {
  ElementType element{name, std::move(fields), 0, true};
  std::size_t widest = 1;
  for (Field& field : element.fields) {
    const std::size_t size = facts(field.type).bytes;
    field.offset = (element.bytes + size - 1) / size * size;
    element.bytes = field.offset + size;
    widest = std::max(widest, size);
  }
  element.bytes = (element.bytes + widest - 1) / widest * widest;
  return element;
}

double half_value(std::uint16_t bits) {
  return small_value(bits, 5);
}
double bfloat_value(std::uint16_t bits) {
  return small_value(bits, 8);
}
std::uint16_t half_bits(double value) {
  return small_bits(value, 5);
}
std::uint16_t bfloat_bits(double value) {
  return small_bits(value, 8);
}

double read_real(Scalar type, const std::byte* at) {
  switch (type) {
    case Scalar::kFp16:
      return half_value(read<std::uint16_t>(at));
    case Scalar::kBf16:
      return bfloat_value(read<std::uint16_t>(at));
    case Scalar::kFp32:
      return read<float>(at);
    case Scalar::kFp64:
      return read<double>(at);
    case Scalar::kUint64:
      return static_cast<double>(read<std::uint64_t>(at));
    default:
      return static_cast<double>(read_whole(type, at));
  }
}

std::int64_t read_whole(Scalar type, const std::byte* at) {
  switch (type) {
    case Scalar::kInt8:
      return read<std::int8_t>(at);
    case Scalar::kUint8:
      return read<std::uint8_t>(at);
    case Scalar::kInt16:
      return read<std::int16_t>(at);
    case Scalar::kUint16:
      return read<std::uint16_t>(at);
    case Scalar::kInt32:
      return read<std::int32_t>(at);
    case Scalar::kUint32:
      return read<std::uint32_t>(at);
    case Scalar::kInt64:
    case Scalar::kUint64:
      return read<std::int64_t>(at);
    default:
      return static_cast<std::int64_t>(read_real(type, at));
  }
}

void write_real(Scalar type, double value, std::byte* at) {
  switch (type) {
    case Scalar::kFp16:
      return write(half_bits(value), at);
    case Scalar::kBf16:
      return write(bfloat_bits(value), at);
    case Scalar::kFp32:
      return write(static_cast<float>(value), at);
    case Scalar::kFp64:
      return write(value, at);
    default:
      return write_whole(type, static_cast<std::int64_t>(std::floor(value)), at);
  }
}

void write_whole(Scalar type, std::int64_t value, std::byte* at) {
  if (facts(type).is_float) return write_real(type, static_cast<double>(value), at);
  // Little endian: the low bytes come first.
  std::memcpy(at, &value, facts(type).bytes);
}

std::string number_text(Scalar type, const std::byte* at) {
  if (type == Scalar::kUint64) return std::to_string(read<std::uint64_t>(at));
  if (!facts(type).is_float) return std::to_string(read_whole(type, at));
  return fmt::format("{:.{}g}", read_real(type, at), type == Scalar::kFp64 ? 17 : 9);
}

std::int64_t float_rank(Scalar type, const std::byte* at) {
  const auto rank = [](std::int64_t bits, std::int64_t sign) {
    return (bits & sign) != 0 ? -(bits & ~sign) : bits;
  };
  switch (facts(type).bytes) {
    case 2:
      return rank(read<std::uint16_t>(at), 0x8000);
    case 4:
      return rank(read<std::uint32_t>(at), std::int64_t{1} << 31);
    default: {
      const auto bits = read<std::uint64_t>(at);
      const auto magnitude = static_cast<std::int64_t>(bits & ~(std::uint64_t{1} << 63));
      return bits >> 63 != 0 ? -magnitude : magnitude;
    }
  }
}

}  // namespace warpgrade::declaration
