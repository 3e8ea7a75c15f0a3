// Looks into compiled objects for what a submission must not do: lean on a vendor's library, or replace
// functions of the CUDA runtime and the C library that the runner measures with.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/toolchain.h"

namespace warpgrade {

struct Finding {
  std::string reason;  // forbidden_library, symbol_interposition; unreadable_object, which is no cheating
  std::string message;
};

// The first vendor header among make-style dependencies, as nvcc -MD writes them.
std::optional<std::string> forbidden_header(const std::string& dependencies);

// Compares every symbol that other objects can see or that the object wants from them: of global, weak or
// unique binding and of any type. `object` are the bytes that will be linked.
std::optional<Finding> inspect_symbols(std::string_view object, const Toolchain& toolchain);

}  // namespace warpgrade
