// What a case's timed phase holds: its pairs, its process pairs and the processes that wait for theirs. Of
// CaseJudge alone (case_judge_timing.cpp, case_judge_processes.cpp).
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "judge/judging/case_judge.h"

namespace warpgrade {

// A baseline that is not in every pair has one run in each process, until it has taken this long.
inline constexpr double kSlowBaselineUs = 5e5;

struct CaseJudge::TimedPair {
  PairSample sample;
  double constant_us = 0;  // of an empty run, as the submission's executor measured it
  bool is_void = false;    // of one of its runs the times say nothing
  bool counts = true;
};

// A process that takes the case's buffers aside, or has them.
struct CaseJudge::Attached {
  std::unique_ptr<RunnerProcess> runner;
  std::future<std::optional<Outcome>> attached;  // behind the runner: ends first
};

struct CaseJudge::TimedBaseline {
  std::string name;
  RunnerSpec spec;
  bool every_pair = true;
  bool for_truth = false;  // not timed
  std::optional<double> budget_us = {};
  std::deque<Attached> waiting = {};           // for the process pairs to come
  std::unique_ptr<RunnerProcess> runner = {};  // of the process pair at hand
  std::vector<std::unique_ptr<RunnerProcess>> used = {};
  int in_process = 0;  // runs in this process pair
  double spent_us = 0;
  bool done() const {
    if (budget_us && spent_us > *budget_us) return true;
    return !every_pair && (in_process > 0 || spent_us > kSlowBaselineUs);
  }
  // ours, not "self", which is the submission's own program and not trusted
  bool is_kept() const { return spec.vendor_libraries; }
};

// The timed phase goes from process pair to process pair.
struct CaseJudge::TimedPhase {
  TimedPhase(const JudgeContext& context, int least_pairs)
      : timing(context.main_baseline(), context.process_pairs),
        most_runs((context.max_pairs + context.process_pairs - 1) / context.process_pairs),
        least_runs((least_pairs + context.process_pairs - 1) / context.process_pairs) {}

  PairedTiming timing;
  std::vector<TimedBaseline> baselines;
  std::deque<Attached> partners;         // of the submission, for process pairs to come
  std::unique_ptr<RunnerProcess> first;  // the submission's own, while a partner is timed
  std::chrono::steady_clock::time_point start;
  int process = 0;    // the process pair at hand
  int runs = 0;       // kept ones in it
  int most_runs = 0;  // in each process pair; the first one decides on how many are enough
  int least_runs = 0;
  int redone = 0, voids = 0, tried = 0;
  std::string stopped_by = "max_pairs";
};

}  // namespace warpgrade
