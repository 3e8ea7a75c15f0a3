#include "judge/declaration/element_type.h"

#include <fmt/format.h>

#include <algorithm>

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

std::string number_text(Scalar type, const std::byte* at) {
  if (type == Scalar::kUint64) return std::to_string(load_number<std::uint64_t>(at));
  if (!facts(type).is_float) return std::to_string(read_whole(type, at));
  return fmt::format("{:.{}g}", read_real(type, at), type == Scalar::kFp64 ? 17 : 9);
}

}  // namespace warpgrade::declaration
