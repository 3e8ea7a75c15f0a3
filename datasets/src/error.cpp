#include "warpgrade/datasets/error.h"

#include <algorithm>

namespace warpgrade::datasets {
namespace {

// Bytes of the UTF-8 sequence at `at` that may be printed; 0: none begins there.
std::size_t sequence(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() - at < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, what lies beyond U+10FFFF, and the control characters U+0080 to U+009F.
  const unsigned char second = byte(at + 1);
  const bool wrong = (first == 0xc2 && second < 0xa0) || (first == 0xe0 && second < 0xa0) ||
                     (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
                     (first == 0xf4 && second > 0x8f);
  return wrong ? 0 : size;
}

}  // namespace

std::string printable(std::string text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = sequence(text, at);
    if (size == 0) text[at] = '?';
    at += std::max<std::size_t>(size, 1);
  }
  return text;
}

}  // namespace warpgrade::datasets
