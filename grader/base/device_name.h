// The names that nvcc gives to device code.
#pragma once

#include <algorithm>
#include <charconv>
#include <string_view>

namespace warpgrade {

// In relocatable code a static name begins with its file's:
// "__nv_static_28__e1f43d6b_4_0_cu_0a6658de_12__Z5againPi" is "_Z5againPi" of a file whose name takes 28
// characters.
inline std::string_view without_file(std::string_view name) {
  constexpr std::string_view kStatic = "__nv_static_", kBehindLength = "__";
  if (!name.starts_with(kStatic)) return name;
  std::string_view rest = name.substr(kStatic.size());
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
  if (error != std::errc()) return name;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  if (!rest.starts_with(kBehindLength) || length >= rest.size() - kBehindLength.size()) return name;
  return rest.substr(kBehindLength.size() + length);
}

}  // namespace warpgrade
