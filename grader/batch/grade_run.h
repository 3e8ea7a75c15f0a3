// Grades a class on this machine: compile everything, judge every case of every submission, record as it
// goes. The same call on the same folder goes on where it stopped.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "labs/lab.h"
#include "record/run_folder.h"
#include "score/policy.h"

namespace warpgrade {

struct GradeOptions {
  std::string lab = "spmm";
  std::optional<std::filesystem::path> submissions;  // a class folder, or one submission
  std::vector<std::filesystem::path> references;     // graded beside it, apart from the ranking
  std::filesystem::path run;                         // the run's folder
  std::string backend = "auto";
  std::vector<std::string> cases;  // ids, datasets, sets or patterns with *; empty: the default set
  std::optional<std::filesystem::path> policy;
  int jobs = 0;  // 0: as many as fit
  bool allow_unsandboxed = false;
  bool fresh_on_change = false;  // an older run of other inputs is moved aside, not refused
  bool measure_speed = true;
  std::vector<std::string> baselines;  // the lab's that are timed beside each submission; empty: all
  bool self_baseline = false;          // A/A: each submission against itself as well, as baseline "self"
  double speed_budget_s = 10;
  int least_pairs = 31;                     // before the budget may end a case's timing
  std::optional<double> baseline_budget_s;  // event time that a baseline may take in a case; none: all pairs
  std::string checks = "memcheck,initcheck,racecheck,synccheck,counters";  // of the emulator (its README.md)
  bool quiet = false;
};

// What happened, for the caller's last lines and exit code.
struct GradeSummary {
  std::filesystem::path run;
  size_t recorded = 0, resumed = 0, faults = 0;
  nlohmann::json scores;
};

GradeSummary grade(const GradeOptions& options);

// The backend that `name` means on this machine, and its device.
struct Backend {
  std::string name;          // "cuda" or "emulator"
  nlohmann::json device;     // of the GPU, {} on the emulator
  std::string architecture;  // "90"
};
Backend choose_backend(const std::string& name);

// The lab's cases that the selectors name. Throws UsageError for a selector that matches none.
std::vector<CaseSpec> select_cases(const Lab& lab, const std::vector<std::string>& selectors,
                                   const std::string& backend);

std::set<std::string> dataset_names(const Lab& lab);

// Reads records and policy of a run and writes records.jsonl and scores.json.
nlohmann::json score_run(const RunFolder& folder, const std::optional<std::filesystem::path>& policy);

}  // namespace warpgrade
