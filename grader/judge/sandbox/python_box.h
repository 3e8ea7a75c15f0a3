// Python in a box: the interpreter, and what it needs to be seen of the machine.
#pragma once

#include <filesystem>
#include <vector>

#include "judge/sandbox/sandbox.h"

namespace warpgrade {

// The interpreter itself, behind the links of a virtual environment: with its own library and no packages.
struct PythonInBox {
  std::filesystem::path program;
  std::vector<Mount> mounts;  // beside the system's /usr
};

// Throws UsageError where there is no Python.
PythonInBox python_in_box();

}  // namespace warpgrade
