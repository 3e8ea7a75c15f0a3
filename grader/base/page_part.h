// A part of a Markdown page that a command writes.
#pragma once

#include <string>
#include <string_view>

namespace warpgrade {

// What stands between two comments, below a heading of its own.
struct PagePart {
  std::string_view heading, begin, end;
};
// The page with `text` there: in place of what stood there, or at the page's end.
std::string with_part(const std::string& page, const PagePart& part, std::string_view text);

}  // namespace warpgrade
