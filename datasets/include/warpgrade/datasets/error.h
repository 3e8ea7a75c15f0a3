// A dataset that can't be had: one line that names the file, the place, what was expected and what to
// do next.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace warpgrade::datasets {

// Messages quote what stands in files and archives. '?' for control characters and for bytes that are not
// UTF-8: nothing in a file reaches the terminal as a command.
std::string printable(std::string text);

class DatasetError : public std::runtime_error {
 public:
  explicit DatasetError(const std::string& text) : std::runtime_error(printable(text)) {}
  template <typename... Args>
  explicit DatasetError(fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(printable(fmt::format(format, std::forward<Args>(args)...))) {}
};

}  // namespace warpgrade::datasets
