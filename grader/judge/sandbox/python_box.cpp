#include "judge/sandbox/python_box.h"

#include "base/error.h"
#include "base/toolchain.h"

namespace warpgrade {
namespace fs = std::filesystem;

PythonInBox python_in_box() {
  const fs::path given = python_program().value_or("/usr/bin/python3");
  std::error_code error;
  PythonInBox python;
  python.program = fs::canonical(given, error);
  if (error)
    throw UsageError(
        "there is no Python at {}: scripts/bootstrap triton gets what submissions in Python need",
        given.string());
  const fs::path home = python.program.parent_path().parent_path();
  const bool in_system = home == "/usr" || home == "/";
  if (!in_system) python.mounts.push_back({home, home, false});
  return python;
}

}  // namespace warpgrade
