// A case's timed phase: the submission and the baselines in turn, every repetition verified.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/process.h"
#include "judge/judging/case_judge.h"
#include "judge/judging/verdict.h"
#include "judge/measure/nvml.h"

namespace warpgrade {
namespace {

using protocol::Op;

constexpr int kSlowBaselinePairs = 7;    // of a baseline that is not in every pair,
constexpr double kSlowBaselineUs = 5e5;  // or until it has taken this long
constexpr double kThrottledShare = 0.2;  // of the pairs may be redone,
constexpr double kVoidShare = 0.2;       // and as many whose start was not known in time;
constexpr int kFewVoids = 8;             // these do when most runs are void and the case's time is over: a
                                         // program that works for seconds before its kernels costs minutes

nlohmann::json gpu_state_json(const std::string& uuid) {
  const auto state = read_gpu_state(uuid);
  return state ? state->to_json() : nlohmann::json();
}

}  // namespace

struct CaseJudge::TimedPair {
  PairSample sample;
  double constant_us = 0;  // of an empty run, as the submission's executor measured it
  bool is_void = false;    // of one of its runs the times say nothing
};

struct CaseJudge::TimedBaseline {
  std::string name;
  RunnerSpec spec;
  std::unique_ptr<RunnerProcess> runner;
  bool every_pair = true;
  int measured = 0;
  double spent_us = 0;
  std::optional<double> budget_us = {};
  bool done() const {
    if (budget_us && spent_us > *budget_us) return true;
    return !every_pair && (measured >= kSlowBaselinePairs || spent_us > kSlowBaselineUs);
  }
};

std::optional<Outcome> CaseJudge::timed_phase() {
  std::vector<TimedBaseline> baselines;
  std::optional<Outcome> fault = time_baselines_and_submission(baselines);
  submission_->resume();
  take_turn();
  prepare_next(kPreparedAhead);
  give_back(baselines);
  return fault;
}

std::optional<Outcome> CaseJudge::time_baselines_and_submission(std::vector<TimedBaseline>& baselines) {
  if (auto fault = start_baselines(baselines)) return fault;
  // A baseline that tries out algorithms compares times: it does so once, with the GPU alone, and keeps the
  // choice in its process.
  const bool chosen = context_.services->planned_before(spec_.id);
  if (chosen) {
    if (auto fault = plan_baselines(baselines)) return fault;
  }
  for (TimedBaseline& baseline : baselines) baseline.runner->pause();
  submission_->pause();
  settle();
  {
    const Phases::Scope waiting(phases_, "lease_wait");
    context_.services->lease().own();
  }
  if (!chosen) {
    if (auto fault = plan_baselines(baselines)) return fault;
  }
  return measure(baselines);
}

// Whether the baseline goes its whole way in a fresh process.
bool CaseJudge::works_alone(const TimedBaseline& baseline) {
  RunnerProcess fresh(baseline.spec);
  return !attach(fresh, Output::kBaseline) && fresh.call(Op::kPlan, plan_arguments()).ok() &&
         fresh.call(Op::kRun, refresh_for_timing()).ok();
}

// A baseline failed while the submission was up: the submission's doing when it held the device's memory and
// the baseline works without it; else a fault of the judge, which is thrown.
Outcome CaseJudge::explain_baseline(const TimedBaseline& baseline, const std::string& words) {
  const auto free_with = free_device_memory();
  submission_->kill();
  context_.services->forget_prepared();  // of the same program
  settle();
  const auto free_without = free_device_memory();
  auto starved = device_memory_.starved(baseline.name, words, free_with, free_without);
  if (starved && works_alone(baseline)) return *starved;
  throw JudgeFault("baseline {}: {}", baseline.name, words);
}

void CaseJudge::give_back(std::vector<TimedBaseline>& baselines) {
  const Phases::Scope closing(phases_, "close");
  for (TimedBaseline& baseline : baselines) {
    // "self" is the submission's own program, and not trusted
    if (baseline.spec.sandbox == SandboxMode::kUnsandboxed && baseline.spec.vendor_libraries)
      context_.services->give_back(baseline.spec, std::move(baseline.runner));
    else
      context_.services->reap_later(std::move(baseline.runner));
  }
}

std::optional<Outcome> CaseJudge::measure(std::vector<TimedBaseline>& baselines) {
  const Phases::Scope timing_scope(phases_, "timed");
  timed_phases_ = Phases();
  const std::string main_baseline = baselines.empty() ? "" : baselines.front().name;
  PairedTiming timing(main_baseline);
  const std::string uuid = device_.value("uuid", "");
  nlohmann::json clocks{{"start", gpu_state_json(uuid)}};
  const auto start = std::chrono::steady_clock::now();
  std::string stopped_by = "max_pairs";
  const std::uint64_t closely_seed = seed("closely");
  int redone = 0, voids = 0, tried = 0;
  while (timing.pairs() < context_.max_pairs) {
    throw_if_interrupted();
    TimedPair pair;
    pair.sample.replanned = std::binary_search(order_.replans.begin(), order_.replans.end(), tried);
    if (pair.sample.replanned) {
      if (auto fault = plan_again()) return fault;
    }
    closely_ = pair.sample.checked_closely = is_checked_closely(closely_seed, tried);
    ++tried;
    if (auto fault = timed_pair(baselines, timing.pairs(), pair)) return fault;
    timed_phases_.enter("gpu_state");
    if (pair.is_void) {
      if (++voids > kVoidShare * context_.max_pairs ||
          (voids >= kFewVoids && voids > timing.pairs() && seconds_since(start) > context_.speed_budget_s))
        return too_many_voids(voids, tried);
      continue;
    }
    if (gpu_is_throttled(uuid) && redone < kThrottledShare * context_.max_pairs) {
      ++redone;
      continue;
    }
    timing.add(std::move(pair.sample));
    if (timing.narrow_enough()) {
      stopped_by = "narrow";
      break;
    }
    if (timing.pairs() >= context_.least_pairs && seconds_since(start) > context_.speed_budget_s) {
      stopped_by = "budget";
      break;
    }
  }
  clocks["end"] = gpu_state_json(uuid);
  timing_ = timing.timing_json(stopped_by);
  timing_["samples"]["clocks"] = std::move(clocks);
  timing_["throttled_redone"] = redone;
  timing_["void_redone"] = voids;
  timing_["phases"] = timed_phases_.to_json();
  ratios_ = timing.ratios_json();
  ratios_with_host_ = timing.ratios_json(PairedTiming::Counted::kDeviceAndHost);
  return finish_timing(timing, main_baseline);
}

// The clock's start could not be read in time, again and again: something keeps the executor from its turn.
Outcome CaseJudge::too_many_voids(int voids, int tried) const {
  Outcome outcome;
  outcome.verdict = verdicts::kTimingRejected;
  outcome.reason = "no_clock";
  outcome.message = fmt::format(
      "{} of {} timed runs could not be timed: host code kept every core busy, or worked for seconds before "
      "its first kernel could start",
      voids, tried);
  return outcome;
}

std::optional<Outcome> CaseJudge::start_baselines(std::vector<TimedBaseline>& baselines) {
  let_others_go_first();
  const Phases::Scope starting(phases_, "baselines");
  for (const auto& entry : context_.baselines) {
    const bool kept = entry.spec.vendor_libraries;  // ours, not "self"
    TimedBaseline baseline{
        entry.name, entry.spec,
        kept ? context_.services->borrow(entry.spec) : std::make_unique<RunnerProcess>(entry.spec),
        entry.every_pair};
    if (context_.baseline_budget_s) baseline.budget_us = 1e6 * *context_.baseline_budget_s;
    baselines.push_back(std::move(baseline));
  }
  // Each is on its way before the first is waited for.
  for (TimedBaseline& baseline : baselines) {
    std::string words;
    try {
      if (const auto fault = attach(*baseline.runner, Output::kBaseline)) words = fault->message;
    } catch (const JudgeFault& fault) {  // it did not come up
      words = fault.what();
    }
    if (!words.empty()) return explain_baseline(baseline, words);
  }
  return std::nullopt;
}

std::optional<Outcome> CaseJudge::plan_baselines(std::vector<TimedBaseline>& baselines) {
  const Phases::Scope planning(phases_, "baselines");
  for (TimedBaseline& baseline : baselines) {
    baseline.runner->resume();
    const Answer answer = baseline.runner->call(Op::kPlan, plan_arguments());
    if (!answer.ok()) return explain_baseline(baseline, baseline.runner->explain(answer, "plan").message);
    baseline.runner->pause();
  }
  return std::nullopt;
}

// Everything once on the same fresh inputs; the order turns with every pair.
std::optional<Outcome> CaseJudge::timed_pair(std::vector<TimedBaseline>& baselines, int pair,
                                             TimedPair& timed) {
  timed_phases_.enter("inputs");
  const Arguments arguments = refresh_for_timing();
  if (pair % 2 == 1) {
    if (auto fault = timed_baselines(baselines, arguments, timed)) return fault;
  }
  timed_phases_.enter("inputs");
  buffers_->poison(Output::kSubmission);
  const Answer answer = timed_turn(*submission_, Op::kRun, arguments);
  timed_phases_.enter("checks");
  buffers_->snapshot(Output::kSubmission);
  ++repetitions_;
  if (!answer.ok()) return submission_->explain(answer, run_name());
  timed.sample.submission_us = answer.reply.stamps_us;  // the constant comes off at the pair's end
  timed.constant_us = answer.reply.constant_us;
  timed.sample.submission_event_us = answer.reply.event_us;
  timed.sample.submission_clock_us = answer.reply.clock_us;
  timed.sample.submission_host_us = answer.reply.host_us;
  timed.sample.launches = answer.reply.launches;
  timed.sample.waited = (answer.reply.flags & protocol::kFlagWaited) != 0;
  timed.is_void = timed.is_void || (answer.reply.flags & protocol::kFlagVoid) != 0;
  if (auto fault = integrity_fault(run_name())) return fault;
  if (auto fault = verify_output()) return fault;
  if (pair % 2 == 0) {
    if (auto fault = timed_baselines(baselines, arguments, timed)) return fault;
  }
  timed.sample.submission_us =
      std::max(0.0, timed.sample.submission_us - std::min(timed.constant_us, trusted_constant_us_));
  return std::nullopt;
}

// In the timed phase: the plan given back and made anew, for the inputs that it was made for.
std::optional<Outcome> CaseJudge::plan_again() {
  timed_phases_.enter("replan");
  submission_->resume();
  const Answer freed = submission_->call(Op::kFree);
  if (!freed.ok()) return submission_->explain(freed, prefix_ + "_free");
  const Answer planned = timed_turn(*submission_, Op::kPlan, plan_arguments());
  if (!planned.ok()) return submission_->explain(planned, plan_name());
  return integrity_fault(plan_name());
}

// In the timed phase a program is stopped except while it is asked: it disturbs nobody else's turn.
Answer CaseJudge::timed_turn(RunnerProcess& runner, Op op, const Arguments& arguments) {
  timed_phases_.enter("switch");
  runner.resume();
  timed_phases_.enter("commands");
  const Answer answer = runner.call(op, arguments);
  timed_phases_.enter("switch");
  runner.pause();
  return answer;
}

std::optional<Outcome> CaseJudge::timed_baselines(std::vector<TimedBaseline>& baselines,
                                                  const Arguments& arguments, TimedPair& timed) {
  for (TimedBaseline& baseline : baselines) {
    if (baseline.done()) continue;
    timed_phases_.enter("inputs");
    buffers_->poison(Output::kBaseline);
    const Answer answer = timed_turn(*baseline.runner, Op::kRun, arguments);
    if (!answer.ok()) return explain_baseline(baseline, baseline.runner->explain(answer, "run").message);
    timed.is_void = timed.is_void || (answer.reply.flags & protocol::kFlagVoid) != 0;
    const double time_us = std::max(0.0, answer.reply.stamps_us - answer.reply.constant_us);
    timed.sample.baseline_us[baseline.name] = time_us;
    timed.sample.baseline_host_us[baseline.name] = answer.reply.host_us;
    if (&baseline == &baselines.front()) {
      timed.sample.baseline_clock_excess_us = answer.reply.clock_us - time_us;
      if (!timed.is_void) trusted_constant_us_ = answer.reply.constant_us;
    }
    baseline.spent_us += time_us;
    if (baseline.measured++ > 0) continue;
    timed_phases_.enter("checks");
    buffers_->snapshot(Output::kBaseline);
    // The submission's kernels had the inputs mapped: a change of it is the submission's doing.
    if (auto fault = integrity_fault("the program, while another ran,")) return fault;
    if (const auto fault = verify_output())
      throw JudgeFault("baseline {} is wrong on {}: {}", baseline.name, spec_.id, fault->message);
  }
  return std::nullopt;
}

std::optional<Outcome> CaseJudge::finish_timing(const PairedTiming& timing,
                                                const std::string& main_baseline) {
  const auto time = timing.graded();
  const double plan_ms = plan_ms_.value_or(0);
  timing_["plan_ms"] = plan_ms;
  const auto ratio = ratios_.find(main_baseline);
  if (ratio != ratios_.end() && (*ratio)["median"] > 1.0) {
    const double gain_us = time.median_us * (ratio->at("median").get<double>() - 1);
    timing_["break_even_runs"] = std::ceil(1e3 * plan_ms / gain_us);
  }
  const double peak = device_.value("peak_bytes_per_s", 0.0);
  const double least_us = peak > 0 ? impossible_us(peak) : 0;
  Outcome outcome;
  outcome.verdict = verdicts::kTimingRejected;
  if (time.rejected) {
    outcome.reason = "clocks_disagree";
    outcome.message =
        fmt::format("the device's clock measured {:.1f} us, and the host's clock at least {:.1f} us more",
                    time.device_median_us, time.excess_low_us);
    return outcome;
  }
  if (time.median_us < least_us) {
    outcome.reason = "below_floor";
    outcome.message = fmt::format(
        "the program took {:.2f} us, but the memory needs at least {:.2f} us to move the data that must be "
        "moved",
        time.median_us, least_us);
    return outcome;
  }
  return std::nullopt;
}

}  // namespace warpgrade
