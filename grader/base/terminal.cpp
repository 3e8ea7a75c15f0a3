#include "base/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace warpgrade {

bool takes_escape_codes(int descriptor) {
  const char* term = std::getenv("TERM");
  const std::string_view name = term == nullptr ? "" : term;
  const char* plain = std::getenv("NO_COLOR");
  if (plain != nullptr && *plain != '\0') return false;
  return isatty(descriptor) == 1 && !name.empty() && name != "dumb";
}

}  // namespace warpgrade
