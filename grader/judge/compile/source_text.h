// A source's bytes as UTF-8 text: editors on Windows also write UTF-16, and marks at the beginning.
#pragma once

#include <optional>
#include <string>

namespace warpgrade {

struct SourceText8 {
  std::string text;
  std::string was;                     // "UTF-16", "UTF-8 with a mark"; empty: nothing was changed
  std::optional<std::string> problem;  // why it is no text: it ends within a character
};

// Other encodings than these come back unchanged: compilers take any bytes in comments and strings. Without a
// mark, UTF-16 is told from the zeros of its ASCII characters.
SourceText8 as_utf8(std::string bytes);

}  // namespace warpgrade
