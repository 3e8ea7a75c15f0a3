// Starts the Python package under reports/, which renders what the programs found.
#pragma once

#include <future>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/process.h"

namespace warpgrade {

// Runs `python -m MODULE ARGUMENTS` to its end, with the project's Python (python_program) or else
// `python3`, and shows what it says on standard error. Returns its standard output. Throws UsageError when
// there is no such Python, when it lacks a package, and when the module refuses its input (exit code 1,
// reason shown); JudgeFault when it ends in any other way.
std::string run_reports_module(const std::string& module, const std::vector<std::string>& arguments);

// The same, begun now and waited for later. Who goes without wait() hears nothing of it.
class ReportsRun {
 public:
  enum class Begin { kNow, kHalf };
  // kHalf: the module has `--half`, does what it can, and waits then for go_on(); without that it ends.
  ReportsRun(std::string module, std::vector<std::string> arguments, Begin begin = Begin::kNow);
  void go_on();
  std::string wait();

 private:
  std::string python_, module_;
  std::future<ProcessResult> result_;
  FileDescriptor go_;  // gone before the result is waited for
};

}  // namespace warpgrade
