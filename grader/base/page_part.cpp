#include "base/page_part.h"

namespace warpgrade {

std::string with_part(const std::string& page, const PagePart& part, std::string_view text) {
  std::string whole(part.begin);
  whole.append("\n").append(text).append(part.end).append("\n");
  const std::size_t begin = page.find(part.begin), end = page.find(part.end);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    const std::string heading(part.heading);
    return page + (page.ends_with("\n") ? "\n" : "\n\n") + heading + "\n\n" + whole;
  }
  std::size_t after = end + part.end.size();
  if (after < page.size() && page[after] == '\n') ++after;
  return page.substr(0, begin) + whole + page.substr(after);
}

}  // namespace warpgrade
