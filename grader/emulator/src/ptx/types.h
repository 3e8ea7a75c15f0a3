// The fundamental types and state spaces of PTX, and their spelling.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace warpgrade::emu {

enum class Type : uint8_t {
  none,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  f32,
  f64,
  pred,
  u16x2,
  s16x2,
  e4m3x2,
  e5m2x2,
};

enum class Space : uint8_t { generic, global, shared, local, constant, param };

struct TypeName {
  std::string_view name;  // without the dot
  Type type;
  uint8_t bytes;  // 0 for predicates
};

inline constexpr TypeName kTypeNames[] = {
    {"b8", Type::b8, 1},       {"b16", Type::b16, 2},       {"b32", Type::b32, 4},
    {"b64", Type::b64, 8},     {"b128", Type::b128, 16},    {"u8", Type::u8, 1},
    {"u16", Type::u16, 2},     {"u32", Type::u32, 4},       {"u64", Type::u64, 8},
    {"s8", Type::s8, 1},       {"s16", Type::s16, 2},       {"s32", Type::s32, 4},
    {"s64", Type::s64, 8},     {"f16", Type::f16, 2},       {"f16x2", Type::f16x2, 4},
    {"bf16", Type::bf16, 2},   {"bf16x2", Type::bf16x2, 4}, {"f32", Type::f32, 4},
    {"f64", Type::f64, 8},     {"pred", Type::pred, 0},     {"u16x2", Type::u16x2, 4},
    {"s16x2", Type::s16x2, 4}, {"e4m3x2", Type::e4m3x2, 2}, {"e5m2x2", Type::e5m2x2, 2},
};

constexpr std::optional<Type> parse_type(std::string_view name) {
  for (const TypeName& t : kTypeNames)
    if (t.name == name) return t.type;
  return std::nullopt;
}

constexpr unsigned size_of(Type type) {
  for (const TypeName& t : kTypeNames)
    if (t.type == type) return t.bytes;
  return 0;
}

constexpr std::string_view name_of(Type type) {
  for (const TypeName& t : kTypeNames)
    if (t.type == type) return t.name;
  return "?";
}

constexpr bool is_signed_integer(Type t) {
  return t == Type::s8 || t == Type::s16 || t == Type::s32 || t == Type::s64;
}

constexpr bool is_float(Type t) {
  return t >= Type::f16 && t <= Type::f64;
}

}  // namespace warpgrade::emu
