// The types of a declared lab's arrays: numbers of 8 to 64 bits, and structures of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "judge/declaration/number_bits.h"

namespace warpgrade::declaration {

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

// The number as people read it: integers in full, others to 9 or 17 digits, "nan".
std::string number_text(Scalar type, const std::byte* at);

}  // namespace warpgrade::declaration
