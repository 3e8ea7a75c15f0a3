// Starts the Python package under reports/, which renders what the programs found.
#pragma once

#include <string>
#include <vector>

namespace warpgrade {

// Runs `python -m MODULE ARGUMENTS` to its end, with the project's Python (python_program) or else
// `python3`, and shows what it says on standard error. Returns its standard output. Throws UsageError when
// there is no such Python, when it lacks a package, and when the module refuses its input (exit code 1,
// reason shown); JudgeFault when it ends in any other way.
std::string run_reports_module(const std::string& module, const std::vector<std::string>& arguments);

}  // namespace warpgrade
