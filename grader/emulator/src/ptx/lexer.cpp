#include "ptx/lexer.h"

#include <algorithm>
#include <cctype>

namespace warpgrade::emu {
namespace {

// By table: a large module's text is read again by every process, and <cctype> asks the locale for each character.
struct WordCharacters {
  bool holds[256] = {};
  constexpr WordCharacters() {
    for (int c = '0'; c <= '9'; ++c) holds[c] = true;
    for (int c = 'a'; c <= 'z'; ++c) holds[c] = holds[c - 'a' + 'A'] = true;
    for (const char c : {'_', '$', '%', '.'}) holds[static_cast<unsigned char>(c)] = true;
  }
};
constexpr WordCharacters kWordCharacters;

bool is_word_char(char c) {
  return kWordCharacters.holds[static_cast<unsigned char>(c)];
}
bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0';
}

size_t end_of_string(std::string_view text, size_t begin) {
  size_t i = begin + 1;
  while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
  if (i >= text.size()) throw PtxError("unterminated string", line_of(text, text.substr(begin, 1)));
  return i + 1;
}

// A decimal floating-point literal may carry a signed exponent: 1.5e-3 is one word.
bool is_exponent_sign(std::string_view word, char next) {
  if (next != '-' && next != '+') return false;
  if (!std::isdigit(static_cast<unsigned char>(word.front()))) return false;
  const bool hexadecimal =
      word.size() > 1 && word[0] == '0' && std::isalpha(static_cast<unsigned char>(word[1]));
  return !hexadecimal && (word.back() == 'e' || word.back() == 'E') && word.find('.') != word.npos;
}

size_t end_of_word(std::string_view text, size_t begin) {
  size_t i = begin;
  const bool is_directive = text[begin] == '.';  // .reg.b32 is two words, ld.global.f32 is one
  while (i < text.size()) {
    if (is_directive && i > begin && text[i] == '.') break;
    if (is_word_char(text[i])) {
      ++i;
    } else if (i > begin && text[i] == ':' && text.compare(i, 2, "::") == 0) {  // L2::cache_hint
      i += 2;
    } else if (i > begin && is_exponent_sign(text.substr(begin, i - begin), text[i])) {
      ++i;
    } else {
      break;
    }
  }
  return i;
}

}  // namespace

std::vector<std::string_view> tokenize(std::string_view text) {
  std::vector<std::string_view> tokens;
  tokens.reserve(text.size() / 5);
  size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    if (is_space(c)) {
      ++i;
    } else if (c == '/' && text.compare(i, 2, "//") == 0) {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '/' && text.compare(i, 2, "/*") == 0) {
      const size_t end = text.find("*/", i + 2);
      i = end == text.npos ? text.size() : end + 2;
    } else {
      const size_t end = c == '"' ? end_of_string(text, i) : is_word_char(c) ? end_of_word(text, i) : i + 1;
      tokens.push_back(text.substr(i, end - i));
      i = end;
    }
  }
  return tokens;
}

unsigned line_of(std::string_view text, std::string_view token) {
  if (token.data() < text.data() || token.data() > text.data() + text.size()) return 0;
  return 1 + static_cast<unsigned>(std::count(text.data(), token.data(), '\n'));
}

}  // namespace warpgrade::emu
