// The commands for authors of declared labs, below `warpgrade labs`.
#pragma once

#include <string>

namespace warpgrade {

// Writes a lab that works: reference/NAME, student/NAME, grader/policies/NAME.yaml. Throws UsageError where
// one of the files is there already or the name will not do; nothing is left behind then.
int new_lab(const std::string& name);

// Makes the student's stub and the table of cases in their page anew from lab.yaml. A stub that somebody
// has filled stays.
int make_lab_pages(const std::string& name);

// Prints the contract that submissions include.
int print_contract(const std::string& name);

struct VerifyOptions {
  std::string lab;
  std::string backend = "auto";  // "auto": the emulator, and the GPU where there is one
  int honest_runs = 200;
  bool allow_unsandboxed = false;
};
// Proves a lab before a class sees it. The exit code is kExitGraded when all held.
int verify_lab(const VerifyOptions& options);

}  // namespace warpgrade
