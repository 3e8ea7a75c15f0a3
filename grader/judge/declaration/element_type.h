// The types of a declared lab's arrays: numbers of 8 to 64 bits, and structures of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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

struct ScalarFacts {
  const char* name;    // "int32"
  const char* c_type;  // "int"
  const char* numpy;   // "<i4"; bf16: "<f4", which holds it exactly (numpy has none)
  std::size_t bytes;
  bool is_float, is_signed;
  int significand_bits;              // of floating point, the hidden one included
  std::vector<const char*> c_names;  // what a signature may call it beside c_type
};
const ScalarFacts& facts(Scalar type);
const std::vector<Scalar>& all_scalars();

struct Field {
  std::string name;  // empty: the element is one number
  Scalar type = Scalar::kFp32;
  std::size_t offset = 0;
};

struct ElementType {
  std::string name;  // "int32", "Particle"
  std::vector<Field> fields;
  std::size_t bytes = 0;
  bool is_structure = false;

  std::string c_type() const;
  // Whether a signature may call it `spelled` ("unsigned int" for uint32).
  bool is_spelled(const std::string& spelled) const;
};

ElementType element_of(Scalar type);
// Fields in order, laid out as C does: each at a multiple of its size, the whole a multiple of the largest.
ElementType structure_of(const std::string& name, std::vector<Field> fields);

// ---- single numbers in memory ----

// As double: exact for all but 64-bit integers beyond 2^53.
double read_real(Scalar type, const std::byte* at);
std::int64_t read_whole(Scalar type, const std::byte* at);  // of integers; uint64 as its bits
// Rounded to nearest, ties to even; integers are given whole.
void write_real(Scalar type, double value, std::byte* at);
void write_whole(Scalar type, std::int64_t value, std::byte* at);
// The number as people read it: integers in full, others to 9 or 17 digits, "nan".
std::string number_text(Scalar type, const std::byte* at);

// Numbers of a floating-point type in order: neighbours differ by one, -0 and +0 are the same. NaN: any.
std::int64_t float_rank(Scalar type, const std::byte* at);

std::uint16_t half_bits(double value);
std::uint16_t bfloat_bits(double value);
double half_value(std::uint16_t bits);
double bfloat_value(std::uint16_t bits);

}  // namespace warpgrade::declaration
