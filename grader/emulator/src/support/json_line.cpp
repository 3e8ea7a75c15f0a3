#include "support/json_line.h"

#include <cmath>
#include <cstdio>

namespace warpgrade::emu {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

void JsonLine::key(std::string_view name) {
  if (!body_.empty()) body_ += ',';
  body_ += quoted(name) + ':';
}

JsonLine& JsonLine::text(std::string_view name, std::string_view value) {
  key(name);
  body_ += quoted(value);
  return *this;
}

JsonLine& JsonLine::number(std::string_view name, uint64_t value) {
  key(name);
  body_ += std::to_string(value);
  return *this;
}

JsonLine& JsonLine::real(std::string_view name, double value, int decimals) {
  key(name);
  char digits[64];
  std::snprintf(digits, sizeof digits, "%.*f", decimals, std::isfinite(value) ? value : 0.0);
  body_ += digits;
  return *this;
}

JsonLine& JsonLine::triple(std::string_view name, const uint32_t value[3]) {
  key(name);
  body_ +=
      '[' + std::to_string(value[0]) + ',' + std::to_string(value[1]) + ',' + std::to_string(value[2]) + ']';
  return *this;
}

JsonLine& JsonLine::object(std::string_view name, const JsonLine& value) {
  key(name);
  body_ += value.str();
  return *this;
}

}  // namespace warpgrade::emu
