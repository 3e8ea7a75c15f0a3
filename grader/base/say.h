// Words for people, in which `warpgrade COMMAND` becomes this program as it is started here (own_command.h).
#pragma once

#include <fmt/core.h>
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

#include "base/own_command.h"

namespace warpgrade {

// On stderr, for who watches. Where they cannot be written (a full disk, a pipe that nobody reads) they are
// lost, and the work goes on: fmt::print would throw.
template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) noexcept {
  try {
    const std::string text = with_own_command(fmt::format(format, std::forward<Args>(args)...));
    (void)std::fwrite(text.data(), 1, text.size(), stderr);
  } catch (...) {
    (void)std::fputs("no memory for a message\n", stderr);
  }
}

// On stdout, what a command was asked for; data (JSON, tables of CSV) goes by fmt::print.
template <typename... Args>
void tell(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print("{}", with_own_command(fmt::format(format, std::forward<Args>(args)...)));
}

}  // namespace warpgrade
