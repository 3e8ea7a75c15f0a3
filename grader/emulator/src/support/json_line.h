// Builds one JSON object on one line.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace warpgrade::emu {

class JsonLine {
 public:
  JsonLine& text(std::string_view key, std::string_view value);
  JsonLine& number(std::string_view key, uint64_t value);
  JsonLine& real(std::string_view key, double value, int decimals);
  JsonLine& triple(std::string_view key, const uint32_t value[3]);
  JsonLine& object(std::string_view key, const JsonLine& value);
  std::string str() const { return "{" + body_ + "}"; }

 private:
  void key(std::string_view name);
  std::string body_;
};

}  // namespace warpgrade::emu
