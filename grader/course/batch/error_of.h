// One submission's trouble stays with it.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace warpgrade {

// Does the work for one submission. Nothing when it is done, else the words of the exception that ended it:
// the caller notes them at that submission and goes on with the others. What ends everybody's work is passed
// on: Interrupted, DiskFull, GpuWedged.
std::optional<std::string> error_of(const std::function<void()>& work);

}  // namespace warpgrade
