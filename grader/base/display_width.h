// How wide a terminal shows a text.
#pragma once

#include <cstddef>
#include <string_view>

namespace warpgrade {

// Columns of a terminal: two for letters of East Asia and for emoji, none for an accent of its own. Letters
// that are drawn as one count once: emoji that are joined or coloured, the two halves of a flag, the parts of
// a Korean syllable (Unicode's annexes 11 and 29). What is no UTF-8 takes a column a byte. Without utf8proc
// every code point takes one.
std::size_t display_width(std::string_view text);

}  // namespace warpgrade
