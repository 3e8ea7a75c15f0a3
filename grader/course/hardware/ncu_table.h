// What ncu prints of a report (`--page raw --csv --print-units base`): a line a launch, a column a metric.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace warpgrade::hardware {

struct LaunchRow {
  std::string kernel;                     // as ncu shows it: "<unnamed>::spmm_kernel<4, 32>(CsrMatrix, int)"
  std::map<std::string, double> metrics;  // those whose cells are numbers
};

// The table comes from a program that ran beside a submission: what is no number is left out, and at most
// so many lines are read. What stands before the header (ncu's own words) is skipped. Empty: there is no
// such table.
std::vector<LaunchRow> read_ncu_table(const std::string& text);

// `spmm_kernel` of `(anonymous namespace)::spmm_kernel<4, 32>(int)`: how ncu and the emulator both call it.
std::string base_name(std::string kernel);

}  // namespace warpgrade::hardware
