// Looks into compiled objects for what a submission must not do: lean on a vendor's library, or replace
// functions of the CUDA runtime and the C library that the runner measures with.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/toolchain.h"

namespace warpgrade {

struct Finding {
  std::string reason;  // forbidden_library, forbidden_call, symbol_interposition
  std::string message;
};

// The first vendor header among make-style dependencies, as nvcc -MD writes them.
std::optional<std::string> forbidden_header(const std::string& dependencies);

std::optional<Finding> inspect_symbols(const std::filesystem::path& object, const Toolchain& toolchain);

}  // namespace warpgrade
