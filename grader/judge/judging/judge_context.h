// What the judge process knows about the case that it judges.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/judging/runner_spec.h"
#include "judge/measure/paired_timing.h"

namespace warpgrade {

class JudgeServices;

// Everything the judge process knows about the case it judges.
struct JudgeContext {
  std::string backend;  // "cuda" or "emulator"
  RunnerSpec submission;
  struct BaselineRunner {
    std::string name;
    RunnerSpec spec;
    bool every_pair = true;
    bool for_truth = false;  // it says what is right in timed repetitions, and is not timed itself
  };
  std::vector<BaselineRunner> baselines;  // one for truth is the first; on the emulator those that were named
  // The one that the submission is measured against; empty: none.
  std::string main_baseline() const {
    for (const BaselineRunner& baseline : baselines)
      if (!baseline.for_truth) return baseline.name;
    return "";
  }
  bool older_interface = false;  // the submission's; inputs keep to what it was promised
  std::string seed;              // hidden: 64 hexadecimal digits
  std::string run_seed;          // hidden too, the same for every submission of the run
  int threads = 1;               // of the judge's own host work
  double speed_budget_s = 10;    // a case's timed pairs
  int max_pairs = 255;
  int least_runs = 0;                 // checked ones of a declared lab's case, where its file says fewer
  int process_pairs = kProcessPairs;  // of the submission and each baseline, that a case's pairs are
                                      // spread over
  int least_pairs = 30;               // however slow it is; at least one in each process pair
  std::optional<double>
      baseline_budget_s;  // event time of a baseline in a case; then it is left out of pairs
  bool measure_speed = true;
  bool first_refusal_ends = false;  // nothing but the first refused case is asked about, and not its cause
  bool another_follows = true;      // another submission may be judged next by this process
  std::string keep_calls;  // on the emulator: a folder for the first run's calls (tape_keeper.h); empty: none
  bool keep_answers = false;    // of oracles for public cases, in the cache: a run on the same inputs follows
  bool order_required = false;  // the policy: work that a run leaves without an order makes it wrong
  bool note_outputs = false;    // on the emulator: a record has a hash of each checked run's outputs
  std::string gpu_lease;        // the lock that the judges of a GPU share; empty: no other judge
  bool alone = true;            // the GPU is kept for the whole case, not for its timed phase only
  // Of the judge process itself:
  JudgeServices* services = nullptr;  // the judge process's; outlives every case
  int cases_after = 0;                // of the same submission, behind this one
};

}  // namespace warpgrade
