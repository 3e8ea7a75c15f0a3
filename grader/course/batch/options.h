// What a run is asked to do.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "judge/measure/paired_timing.h"
#include "record/record.h"

namespace warpgrade {

// Told of a run's cases while it goes on, from the thread that judges.
class GradeWatcher {
 public:
  virtual ~GradeWatcher() = default;
  virtual void compiled() {}
  virtual void case_started(const std::string& /*case_id*/) {}
  virtual void case_recorded(const Record& /*record*/) {}
  virtual bool wants_to_stop() {
    return false;
  }  // asked after each case: the submission's others are not judged
};

struct GradeOptions {
  std::string lab = "spmm";
  std::optional<std::filesystem::path> submissions;  // a class folder, or one submission
  std::vector<std::filesystem::path> references;     // graded beside it, apart from the ranking
  std::filesystem::path run;                         // the run's folder
  std::string backend = "auto";
  std::vector<std::string> cases;  // ids, datasets, sets or patterns with *; empty: the default set
  std::optional<std::filesystem::path> input;  // judge on the user's own input instead of the lab's cases
  std::optional<std::filesystem::path> policy;
  int jobs = 0;                   // 0: as many as fit
  std::vector<std::string> gpus;  // of this machine; empty: all
  bool allow_unsandboxed = false;
  bool require_isolation = false;  // every protection of judge/sandbox/isolation.h, or no run
  bool direct = false;             // without an executor: host code in one process with the CUDA runtime
  bool fresh_on_change = false;    // an older run of other inputs is moved aside, not refused
  bool measure_speed = true;
  std::vector<std::string> baselines;  // the lab's that are timed beside each submission; empty: all
  bool self_baseline = false;          // A/A: each submission against itself as well, as baseline "self"
  double speed_budget_s = 10;
  int least_runs = 0;                       // checked ones of a declared lab's case; not kept in batch.json
  int process_pairs = kProcessPairs;        // of the submission and a baseline, for the timed pairs of a case
  int least_pairs = 30;                     // before the budget may end a case's timing
  std::optional<double> baseline_budget_s;  // event time that a baseline may take in a case; none: all pairs
  std::string checks =
      "memcheck,initcheck,racecheck,synccheck,leakcheck,counters";  // of the emulator (its README.md)
  // By submission; not kept in batch.json: no case is asked about behind the first refused one, nothing is timed.
  std::set<std::string> until_refused, untimed;
  bool inputs_of_their_own = false;  // of each submission, not the class's; not kept in batch.json
  bool beside_others = false;        // another run of the caller's has the same GPU; not kept in batch.json
  bool own_run = false;  // a student's, of no grade: the day's inputs once more; not kept in batch.json
  bool quiet = false;
  GradeWatcher* watcher = nullptr;   // not kept in batch.json
  std::filesystem::path keep_calls;  // of one case on the emulator: see JudgeContext; not kept in batch.json

  // Of `warpgrade batch` and its tasks:
  bool class_in_run = false;                        // submissions: those of the run folder's submissions.json
  bool continue_only = false;                       // the run must be there; its own policy holds
  bool log_progress = false;                        // events of progress too, not of faults alone
  std::optional<std::string> planned_architecture;  // of GPUs that other machines have: "90"
  std::optional<std::filesystem::path> datasets;    // a node's own folder for them
  bool judged_elsewhere = false;                    // this process plans for other machines
  nlohmann::json event_facts;                       // of every event: node, job, round

  // What batch.json keeps: all that a task needs to judge as the first call would have.
  nlohmann::json to_json() const;
  static GradeOptions from_json(const nlohmann::json& json);
};

}  // namespace warpgrade
