#include "course/slurm/units.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <regex>

namespace warpgrade {
namespace {

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::optional<std::size_t> memory_mb(const std::string& text) {
  static const std::regex form("([0-9]{1,12})([KMGT]?)B?");
  std::smatch parts;
  const std::string word = upper(text);
  if (!std::regex_match(word, parts, form)) return std::nullopt;
  const std::size_t number = std::strtoull(parts[1].str().c_str(), nullptr, 10);
  switch (parts[2].length() == 0 ? 'M' : parts[2].str()[0]) {
    case 'K':
      return (number + 1023) >> 10;
    case 'G':
      return number << 10;
    case 'T':
      return number << 20;
    default:
      return number;
  }
}

std::optional<double> time_s(const std::string& text) {
  const std::string word = upper(text);
  if (word == "UNLIMITED" || word == "INFINITE") return 0;
  static const std::regex form("(?:([0-9]{1,6})-)?([0-9]{1,8})(?::([0-9]{1,2}))?(?::([0-9]{1,2}))?");
  std::smatch parts;
  if (!std::regex_match(word, parts, form)) return std::nullopt;
  const auto number = [&](size_t i) { return std::atof(parts[i].str().c_str()); };
  if (parts[1].matched) return 86400 * number(1) + 3600 * number(2) + 60 * number(3) + number(4);
  if (parts[4].matched) return 3600 * number(2) + 60 * number(3) + number(4);
  return 60 * number(2) + number(3);
}

std::string minutes_text(double seconds) {
  return std::to_string(static_cast<std::int64_t>(std::max(1.0, std::ceil(seconds / 60))));
}

}  // namespace warpgrade
