// Looks into compiled objects for what a submission cannot do here: lean on a vendor's library, which the run
// box does not hold. What it defines is its own affair: nothing that decides or measures runs in its process.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "record/verdict.h"

namespace warpgrade {

struct Finding {
  Reason reason = Reason::kForbiddenLibrary;
  std::string symbol;   // of a library's function
  std::string message;  // what stands behind the file's name
};

// The first header of a library whose kernels stand in its headers, among make-style dependencies, as nvcc
// -MD writes them. Headers of other libraries cost nothing: only a call of theirs does.
std::optional<std::string> forbidden_header(const std::string& dependencies);

// Looks at every symbol that the object wants from others: of global or weak binding and of any type.
// `object` are the bytes that will be linked.
std::optional<Finding> inspect_symbols(std::string_view object);

}  // namespace warpgrade
