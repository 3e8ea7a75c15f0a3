// A dataset that can't be had: one line that names the file, the place, what was expected and what to do
// next.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace warpgrade::datasets {

class DatasetError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  template <typename... Args>
  explicit DatasetError(fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}
};

}  // namespace warpgrade::datasets
