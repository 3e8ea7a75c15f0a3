// Looks into compiled objects for what a submission must not do: lean on a vendor's library. What it defines
// is its own affair: nothing that decides or measures runs in its process.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace warpgrade {

struct Finding {
  std::string reason;  // forbidden_library; unreadable_object, which is no cheating
  std::string message;
};

// The first vendor header among make-style dependencies, as nvcc -MD writes them.
std::optional<std::string> forbidden_header(const std::string& dependencies);

// Looks at every symbol that the object wants from others: of global or weak binding and of any type.
// `object` are the bytes that will be linked.
std::optional<Finding> inspect_symbols(std::string_view object);

}  // namespace warpgrade
