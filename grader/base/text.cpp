#include "base/text.h"

#include <algorithm>

namespace warpgrade {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Length of the well-formed sequence at the text's start, 0 where there is none: RFC 3629, section 4.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  std::size_t length = 0;
  unsigned char least = 0x80, most = 0xBF;  // of the second byte
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) least = 0xA0;  // else over-long
    if (lead == 0xED) most = 0x9F;   // else a surrogate
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) least = 0x90;  // else over-long
    if (lead == 0xF4) most = 0x8F;   // else beyond U+10FFFF
  }
  if (length == 0 || text.size() < length) return 0;
  if (byte(1) < least || byte(1) > most) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    valid += length > 0 ? text.substr(0, length) : kReplacement;
    text.remove_prefix(length > 0 ? length : 1);
  }
  return valid;
}

std::string one_line(std::string_view text, std::size_t most_bytes) {
  constexpr std::string_view kCut = "...";
  const bool cut = text.size() > most_bytes;  // replaced bytes make it longer: looked at again below
  std::string line = valid_utf8(text.substr(0, most_bytes));
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  if (!cut && line.size() <= most_bytes) return line;
  std::size_t end = std::min(line.size(), most_bytes - kCut.size());
  while (end > 0 && end < line.size() && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
  return line.substr(0, end).append(kCut);
}

std::string_view tail_of(std::string_view text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return text;
  text.remove_prefix(text.size() - most_bytes);
  while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0) == 0x80) text.remove_prefix(1);
  return text;
}

}  // namespace warpgrade
