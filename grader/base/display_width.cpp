#include "base/display_width.h"

#ifdef WARPGRADE_HAS_UTF8PROC
#include <utf8proc.h>
#endif

#include <algorithm>

namespace warpgrade {
#ifdef WARPGRADE_HAS_UTF8PROC
namespace {

constexpr utf8proc_int32_t kEmojiStyle = 0xFE0F;  // variation selector 16

int bound_class(utf8proc_int32_t letter) {
  return static_cast<int>(utf8proc_get_property(letter)->boundclass);
}

// Whether this letter and kEmojiStyle give an emoji: pictures, and the digits of keycaps.
bool has_emoji_style(utf8proc_int32_t letter) {
  return bound_class(letter) == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC ||
         (letter >= '0' && letter <= '9') || letter == '#' || letter == '*';
}

// Columns that a letter adds to those it is drawn with.
std::size_t width_when_joined(utf8proc_int32_t letter) {
  switch (bound_class(letter)) {
    case UTF8PROC_BOUNDCLASS_EXTEND:  // an accent, a skin's colour
    case UTF8PROC_BOUNDCLASS_ZWJ:
    case UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC:
    case UTF8PROC_BOUNDCLASS_V:  // a syllable's vowel and its end
    case UTF8PROC_BOUNDCLASS_T:
      return 0;
    default:
      return static_cast<std::size_t>(utf8proc_charwidth(letter));
  }
}

// Takes the letters one by one and adds up the columns.
class Columns {
 public:
  void add(utf8proc_int32_t letter) {
    const bool joined = previous_ >= 0 && !utf8proc_grapheme_break_stateful(previous_, letter, &state_);
    previous_ = letter;
    if (!joined) {
      end_cluster();
      first_ = letter;
      cluster_ = static_cast<std::size_t>(utf8proc_charwidth(letter));
    } else if (letter == kEmojiStyle && has_emoji_style(first_)) {
      cluster_ = 2;
    } else {
      cluster_ += width_when_joined(letter);
    }
  }
  void add_byte() {
    end_cluster();
    ++columns_;
    previous_ = -1;
    state_ = 0;
  }
  std::size_t total() {
    end_cluster();
    return columns_;
  }

 private:
  void end_cluster() {
    columns_ += cluster_;
    cluster_ = 0;
  }

  utf8proc_int32_t previous_ = -1, first_ = -1, state_ = 0;
  std::size_t cluster_ = 0, columns_ = 0;
};

}  // namespace

std::size_t display_width(std::string_view text) {
  const auto* at = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  auto left = static_cast<utf8proc_ssize_t>(text.size());
  Columns columns;
  while (left > 0) {
    utf8proc_int32_t letter = 0;
    const utf8proc_ssize_t bytes = utf8proc_iterate(at, left, &letter);
    bytes < 0 ? columns.add_byte() : columns.add(letter);
    at += std::max<utf8proc_ssize_t>(1, bytes);
    left -= std::max<utf8proc_ssize_t>(1, bytes);
  }
  return columns.total();
}
#else
std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}
#endif

}  // namespace warpgrade
