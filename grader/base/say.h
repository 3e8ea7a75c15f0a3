// Words for who watches, on stderr. Where they cannot be written (a full disk, a pipe that nobody reads) they
// are lost, and the work goes on: fmt::print would throw.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace warpgrade {

template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) noexcept {
  try {
    const std::string text = fmt::format(format, std::forward<Args>(args)...);
    (void)std::fwrite(text.data(), 1, text.size(), stderr);
  } catch (...) {
    (void)std::fputs("no memory for a message\n", stderr);
  }
}

}  // namespace warpgrade
