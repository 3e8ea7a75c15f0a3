// What a source defines and uses, read from its text alone. The compiler decides what a program is; this
// decides earlier which of several files is meant, so it errs on the side of seeing nothing.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace warpgrade {

struct SourceScan {
  std::set<std::string>
      functions;                 // defined at file scope for other files to see: "spmm_run", "SpMMOpt::run"
  std::set<std::string> offers;  // all names that another file could use: also templates and variables
  std::set<std::string> uses;    // every identifier
  std::vector<std::string> includes;  // of #include "..."
  bool defines(const std::string& function) const { return functions.contains(function); }
};

// Comments, strings and what stands behind #if 0 are not looked at; of #if ... #else ... both branches are.
// Takes one pass, whatever the text holds.
SourceScan scan_source(std::string_view text);

}  // namespace warpgrade
