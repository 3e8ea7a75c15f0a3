// JSON as text, whatever the strings in it hold.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace warpgrade {

// The last line of defence: text is made valid where it enters (base/text.h); bytes that still are no UTF-8
// become U+FFFD here instead of an exception that ends the program.
inline std::string json_text(const nlohmann::json& value, int indent = -1) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace warpgrade
