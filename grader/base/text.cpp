#include "base/text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

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

namespace {

// The code point of a well-formed sequence.
char32_t code_point(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return lead;
  char32_t point = lead & (0x7FU >> character.size());
  for (const char byte : character.substr(1))
    point = (point << 6) | (static_cast<unsigned char>(byte) & 0x3FU);
  return point;
}

constexpr std::pair<char32_t, char32_t> kUnfit[] = {
    {0x00, 0x1F},      // C0: NUL, ESC, ...; newline and tab are kept by whoever shows several lines
    {0x7F, 0x9F},      // DEL and C1: 8-bit terminals obey U+009B like ESC [; U+0085 ends a line
    {0x061C, 0x061C},  // ARABIC LETTER MARK
    {0x200E, 0x200F},  // LEFT-TO-RIGHT MARK, RIGHT-TO-LEFT MARK
    {0x2028, 0x2029},  // LINE SEPARATOR, PARAGRAPH SEPARATOR
    {0x202A, 0x202E},  // embeddings and overrides
    {0x2066, 0x2069},  // isolates
    {0xFDD0, 0xFDEF},  // noncharacters, as are the last two of each plane
};

bool is_unfit(std::string_view character) {
  const char32_t point = code_point(character);
  return (point & 0xFFFE) == 0xFFFE || std::ranges::any_of(kUnfit, [&](const auto& range) {
           return point >= range.first && point <= range.second;
         });
}

}  // namespace

std::string plain_text(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const std::string_view character = text.substr(0, length > 0 ? length : 1);
    text.remove_prefix(character.size());
    if (character == "\r" && text.starts_with('\n')) continue;
    const bool kept = length > 0 && (!is_unfit(character) || character == "\n" || character == "\t");
    plain += kept ? character : kReplacement;
  }
  return plain;
}

void make_plain(nlohmann::json& value) {
  if (auto* text = value.get_ptr<std::string*>()) {
    const bool is_plain =
        std::all_of(text->begin(), text->end(), [](char c) { return ' ' <= c && c <= '~'; });
    if (!is_plain) *text = plain_text(*text);
  } else if (value.is_structured()) {
    for (nlohmann::json& part : value) make_plain(part);
  }
}

std::string plain_line(std::string_view text, std::size_t most_bytes) {
  constexpr std::string_view kCut = "...";
  const std::string plain = plain_text(text.substr(0, most_bytes + 1));
  std::string line;
  for (std::string_view rest = plain; !rest.empty();) {
    const std::string_view character = rest.substr(0, sequence_length(rest));
    rest.remove_prefix(character.size());
    const std::string_view shown = character == "\n" || character == "\t" ? " " : character;
    if (line.size() + shown.size() > most_bytes) {
      while (!line.empty() && line.size() + kCut.size() > most_bytes) {
        while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xC0) == 0x80) line.pop_back();
        if (!line.empty()) line.pop_back();
      }
      return line += kCut;
    }
    line += shown;
  }
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

std::string_view tail_of(std::string_view text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return text;
  text.remove_prefix(text.size() - most_bytes);
  while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0) == 0x80) text.remove_prefix(1);
  return text;
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
}

namespace {

std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string nearest_word(const std::string& word, const std::set<std::string>& known) {
  constexpr std::size_t kLongest = 64;  // nobody means a longer word by mistake
  if (word.size() > kLongest) return "";
  std::string nearest;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t away = distance(word, candidate);
    if (away < least) least = away, nearest = candidate;
  }
  return nearest;
}

}  // namespace warpgrade
