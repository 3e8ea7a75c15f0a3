// Numbers in lines of text.
#pragma once

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <string_view>

namespace warpgrade::datasets {

inline bool blank(char c) {
  return c == ' ' || c == '\t' || c == ',' || c == ';';
}

inline bool only_blanks(std::string_view line) {
  return std::all_of(line.begin(), line.end(), blank);
}

// Takes the next number off the front of the line; false when none is there, or one that T can't hold.
template <typename T>
bool take(std::string_view& line, T& value) {
  while (!line.empty() && blank(line.front())) line.remove_prefix(1);
  if (!line.empty() && line.front() == '+') line.remove_prefix(1);
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (error != std::errc()) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  return line.empty() || blank(line.front());
}

inline std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace warpgrade::datasets
