// The commands for authors of declared labs, below `warpgrade labs`.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
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

struct MutantsOptions {
  std::string lab;
  std::string solution;    // naive, optimized or a step; empty: all of them
  std::uint64_t seed = 1;  // of the order, and of the inputs
  std::optional<double>
      limit_s;  // no mutant is begun behind this; none: five minutes, or no limit with `all`
  bool all = false;
  std::optional<std::size_t> most;  // mutants; none: as many as the time allows
  std::string again;                // a report of `--json`: only the mutants that no case refused there
  std::string report;               // such a report, whose mutants are not tried again
  std::set<std::string> only;       // "naive no_barrier:_Z3sumPf:12"; empty: all
  int workers = 0;                  // judges at a time; 0: as many as cores
  std::size_t shapes = 200;         // random ones, in which a survivor may show
  bool trust_reasons = false;       // of survivors.yaml: such mutants are not tried in random shapes
  bool json = false;
  bool keep = false;   // reference/<lab>/mutants.json
  std::string page;    // an HTML file
  bool check = false;  // a survivor that survivors.yaml does not know makes the exit code 1
  bool allow_unsandboxed = false;
};
// How much a lab's correctness cases see, told by mutants of the staff's solutions. The exit code is 1 with
// `check` and a survivor that survivors.yaml does not explain.
int try_mutants(const MutantsOptions& options);

}  // namespace warpgrade
