// A case's timed phase: the submission and the baselines in turn, every repetition verified.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/process.h"
#include "judge/judging/timed_phase.h"
#include "judge/measure/nvml.h"
#include "record/outcome.h"

namespace warpgrade {
namespace {

using protocol::Op;

constexpr double kSlowUs = 5e4;  // a program to whose runs the loading of code is nothing
// Pairs that may be redone, as a share of those that are kept, or a few: of pairs while the GPU throttled,
// and of pairs whose start was not known in time. More would let a program choose the runs that count.
constexpr double kRedoneShare = 0.2;
constexpr int kFewRedone = 8;

nlohmann::json gpu_state_json(const std::string& uuid) {
  const auto state = read_gpu_state(uuid);
  return state ? state->to_json() : nlohmann::json();
}

}  // namespace

std::optional<Outcome> CaseJudge::timed_phase() {
  phase_ = std::make_unique<TimedPhase>(context_, least_pairs());
  std::optional<Outcome> fault = time_baselines_and_submission();
  if (!fault && phase_->first) fault = end_partner(true);
  submission_->resume();
  take_turn();
  give_back();
  prepare_next(kPreparedAhead);
  phase_.reset();
  return fault;
}

std::optional<Outcome> CaseJudge::time_baselines_and_submission() {
  start_partners();
  if (auto fault = start_baselines()) return fault;
  // A baseline that tries out algorithms compares times: it does so with the GPU alone, and keeps the choice
  // in its process.
  const bool chosen = context_.services->planned_before(spec_.id);
  if (chosen) {
    if (auto fault = plan_baselines()) return fault;
  }
  for (TimedBaseline& baseline : phase_->baselines) baseline.runner->pause();
  submission_->pause();
  pause_waiting();
  settle();
  {
    const Phases::Scope waiting(phases_, "lease_wait");
    context_.services->lease().own();
  }
  if (!chosen) {
    if (auto fault = plan_baselines()) return fault;
  }
  return measure();
}

// Runs that the timed phase may still have, as far as it is known: until it is decided next how many.
int CaseJudge::pairs_to_come() const {
  if (!timed()) return 0;
  if (!phase_) return 1 + std::max(kLooks[0], least_pairs() / context_.process_pairs);
  const int processes = context_.process_pairs - phase_->process - 1;
  if (phase_->process > 0) return phase_->most_runs * (processes + 1) - phase_->runs;
  int next = phase_->most_runs;
  for (const int look : kLooks)
    if (look > phase_->runs) next = std::min(next, look);
  return next - phase_->runs + (phase_->timing.pairs() == 0 ? 1 : 0);
}

bool CaseJudge::main_baseline_runs() const {
  return phase_ && !phase_->baselines.empty() && !phase_->baselines.front().done();
}

std::optional<Outcome> CaseJudge::run_main_baseline(const Arguments& arguments) {
  TimedBaseline& baseline = phase_->baselines.front();
  timed_phases_.enter("checks");
  buffers_->poison();
  const Answer answer = timed_turn(*baseline.runner, Op::kRun, arguments);
  if (!answer.ok()) return explain_baseline(baseline, baseline.runner->explain(answer, "run").message);
  timed_phases_.enter("checks");
  buffers_->snapshot();
  return integrity_fault("the program, while another ran,");
}

std::optional<Outcome> CaseJudge::measure() {
  const Phases::Scope timing_scope(phases_, "timed");
  timed_phases_ = Phases();
  TimedPhase& phase = *phase_;
  const std::string uuid = device_.value("uuid", "");
  if (auto fault = before_timing()) return fault;
  nlohmann::json clocks{{"start", gpu_state_json(uuid)}};
  phase.start = std::chrono::steady_clock::now();
  for (phase.process = 0; phase.process < context_.process_pairs; ++phase.process) {
    phase.runs = 0;
    if (phase.process > 0 && !leaves_time(1, 2)) {
      phase.stopped_by = "budget";
      break;
    }
    if (phase.process > 0) {
      if (auto fault = next_process_pair()) return fault;
    }
    if (auto fault = measure_process_pair(uuid)) return fault;
  }
  timed_phases_.enter("checks");
  if (auto fault = verify_last_pair()) return fault;
  clocks["end"] = gpu_state_json(uuid);
  timing_ = phase.timing.record(phase.stopped_by);
  timing_->samples["clocks"] = std::move(clocks);
  timing_->throttled_redone = phase.redone;
  timing_->void_redone = phase.voids;
  timing_->phases = timed_phases_.seconds();
  ratios_ = phase.timing.ratios();
  ratios_with_host_ = phase.timing.ratios(PairedTiming::Counted::kDeviceAndHost);
  return finish_timing(phase.timing, context_.main_baseline());
}

// What the submission's calls may still take is enough for the least runs of the process pairs to come, and
// for what the order has behind them.
bool CaseJudge::leaves_time(int processes, int runs_each) const {
  CaseBudget::Calls calls = behind_timing_;
  calls.plans += processes;
  calls.runs += processes * runs_each;
  calls.frees += processes;
  return budget_->has_room_for(calls);
}

// Each process pair has its share of the case's time. The first one looks whether its runs are enough; as
// many do for the others.
std::optional<Outcome> CaseJudge::measure_process_pair(const std::string& gpu) {
  TimedPhase& phase = *phase_;
  const double end_s = context_.speed_budget_s * (phase.process + 1) / context_.process_pairs;
  const std::uint64_t closely_seed = seed("closely");
  // Code is loaded at its first use: the first runs of two processes do not count.
  TimedPair first;
  first.sample.process = phase.process;
  first.counts = false;
  if (auto fault = timed_pair(first, phase.process == 0 ? Inputs::kFresh : Inputs::kAsBefore)) return fault;
  if (!first.is_void && first.sample.submission_us > kSlowUs) {  // to which that is nothing
    phase.timing.add(std::move(first.sample));
    ++phase.runs;
    if (is_short_of_time()) return std::nullopt;
  }
  while (phase.runs < phase.most_runs) {
    throw_if_interrupted();
    TimedPair pair;
    pair.sample.process = phase.process;
    pair.sample.replanned = std::binary_search(order_.replans.begin(), order_.replans.end(), phase.tried);
    if (pair.sample.replanned) {
      if (auto fault = plan_again()) return fault;
    }
    closely_ = pair.sample.checked_closely = is_checked_closely(closely_seed, phase.tried);
    ++phase.tried;
    if (auto fault = timed_pair(pair, Inputs::kFresh)) return fault;
    timed_phases_.enter("gpu_state");
    const int most_redone = std::max(kFewRedone, static_cast<int>(kRedoneShare * phase.timing.pairs()));
    if (pair.is_void) {
      if (++phase.voids > most_redone) return too_many_voids();
      continue;
    }
    if (gpu_is_throttled(gpu) && phase.redone < most_redone) {
      ++phase.redone;
      continue;
    }
    phase.timing.add(std::move(pair.sample));
    ++phase.runs;
    if (phase.process == 0 && phase.timing.steady_enough()) {
      phase.stopped_by = "narrow";
      phase.most_runs = phase.runs;
    } else if (phase.runs < phase.most_runs &&
               ((phase.runs >= phase.least_runs && seconds_since(phase.start) > end_s) ||
                is_short_of_time())) {
      phase.stopped_by = "budget";
      break;
    }
  }
  return std::nullopt;
}

// A slow program has fewer runs in each process, one at least, so that all that a case wants fits into the
// time of its calls.
bool CaseJudge::is_short_of_time() const {
  return !leaves_time(context_.process_pairs - phase_->process - 1, phase_->least_runs + 1);
}

// The clock's start could not be read in time, again and again: something keeps the executor from its turn.
Outcome CaseJudge::too_many_voids() const {
  Outcome outcome;
  outcome.verdict = Verdict::kTimingRejected;
  outcome.reason = Reason::kNoClock;
  outcome.message = fmt::format(
      "{} of {} timed runs could not be timed: host code kept every core busy, or worked for seconds before "
      "its first kernel could start",
      phase_->voids, phase_->tried);
  return outcome;
}

// Everything once on the same fresh inputs; the order turns with every pair.
std::optional<Outcome> CaseJudge::timed_pair(TimedPair& timed, Inputs inputs) {
  timed_phases_.enter("inputs");
  const bool submission_first = phase_->runs % 2 == 0;
  if (inputs == Inputs::kFresh) timed_arguments_ = refresh_for_timing();
  const Arguments& arguments = timed_arguments_;
  timed.sample.inputs = inputs_of_run();
  if (!submission_first) {
    if (auto fault = timed_baselines(arguments, timed)) return fault;
  }
  if (auto fault = timed_submission(arguments, timed)) return fault;
  if (submission_first) {
    if (auto fault = timed_baselines(arguments, timed)) return fault;
  }
  timed_phases_.enter("checks");
  if (auto fault = verify_pair()) return fault;
  // One constant for both sides: the submission's own streams can make its executor's longer, and the smaller
  // of the two would favour the baseline.
  timed.sample.submission_us =
      std::max(0.0, timed.sample.submission_us - trusted_constant_us_.value_or(timed.constant_us));
  return std::nullopt;
}

std::optional<Outcome> CaseJudge::timed_submission(const Arguments& arguments, TimedPair& timed) {
  timed_phases_.enter("inputs");
  buffers_->poison();
  const Answer answer = timed_turn(*submission_, Op::kRun, arguments);
  timed_phases_.enter("checks");
  buffers_->snapshot();
  checks_.begin_run();
  if (!answer.ok()) return submission_->explain(answer, called(run_name()));
  timed.sample.submission_us = answer.reply.stamps_us;  // the constant comes off at the pair's end
  timed.constant_us = answer.reply.constant_us;
  timed.sample.submission_event_us = answer.reply.event_us;
  timed.sample.submission_clock_us = answer.reply.clock_us;
  timed.sample.submission_host_us = answer.reply.host_us;
  timed.sample.launches = answer.reply.launches;
  timed.sample.waited = (answer.reply.flags & protocol::kFlagWaited) != 0;
  timed.is_void = timed.is_void || (answer.reply.flags & protocol::kFlagVoid) != 0;
  if (auto fault = integrity_fault(called(run_name()))) return fault;
  return verify_timed_output(0);
}

// In the timed phase: the plan given back and made anew, for the inputs that it was made for.
std::optional<Outcome> CaseJudge::plan_again() {
  timed_phases_.enter("replan");
  submission_->resume();
  const Answer freed = submission_->call(Op::kFree);
  if (!freed.ok()) return submission_->explain(freed, called(prefix_ + "_free"));
  const Answer planned = timed_turn(*submission_, Op::kPlan, plan_arguments());
  if (!planned.ok()) return submission_->explain(planned, called(plan_name()));
  return integrity_fault(called(plan_name()));
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

std::optional<Outcome> CaseJudge::timed_baselines(const Arguments& arguments, TimedPair& timed) {
  int number = 0;
  for (TimedBaseline& baseline : phase_->baselines) {
    ++number;
    if (baseline.done() || (!baseline.every_pair && (!timed.counts || inputs_of_run() != 0))) continue;
    const bool gives_truth = number == 1 && wants_main_baseline();
    if (baseline.for_truth && !gives_truth) continue;
    const Answer answer = baseline_turn(baseline, arguments);
    if (!answer.ok()) return explain_baseline(baseline, baseline.runner->explain(answer, "run").message);
    timed.is_void = timed.is_void || (answer.reply.flags & protocol::kFlagVoid) != 0;
    if (!baseline.for_truth) note_baseline_time(baseline, answer, timed);
    if (baseline.in_process++ > 0 && !gives_truth) continue;
    timed_phases_.enter("checks");
    buffers_->snapshot();
    // The submission's kernels had the inputs mapped: a change of it is the submission's doing.
    if (auto fault = integrity_fault("the program, while another ran,")) return fault;
    if (const auto fault = verify_timed_output(number))
      throw JudgeFault("baseline {} is wrong on {}: {}", baseline.name, spec_.id, fault->message);
  }
  return std::nullopt;
}

// Its first run in a process loads code, which is no part of its time. One that every pair has was in the pair
// that does not count; another one has one run more here, where loading counts for something.
Answer CaseJudge::baseline_turn(TimedBaseline& baseline, const Arguments& arguments) {
  const auto turn = [&] {
    timed_phases_.enter("inputs");
    buffers_->poison();
    return timed_turn(*baseline.runner, Op::kRun, arguments);
  };
  Answer answer = turn();
  const bool loaded_code = !baseline.every_pair && baseline.in_process == 0;
  if (!loaded_code || !answer.ok() || answer.reply.stamps_us > kSlowUs) return answer;
  return turn();
}

void CaseJudge::note_baseline_time(TimedBaseline& baseline, const Answer& answer, TimedPair& timed) {
  const double time_us = std::max(0.0, answer.reply.stamps_us - answer.reply.constant_us);
  timed.sample.baseline_us[baseline.name] = time_us;
  timed.sample.baseline_host_us[baseline.name] = answer.reply.host_us;
  if (baseline.name == context_.main_baseline()) {
    timed.sample.baseline_clock_excess_us = answer.reply.clock_us - time_us;
    if (!timed.is_void) trusted_constant_us_ = answer.reply.constant_us;
  }
  baseline.spent_us += time_us;
}

std::optional<Outcome> CaseJudge::finish_timing(const PairedTiming& timing,
                                                const std::string& main_baseline) {
  const auto time = timing.graded();
  const double plan_ms = plan_ms_.value_or(0);
  timing_->plan_ms = plan_ms;
  const auto ratio = ratios_.find(main_baseline);
  if (ratio != ratios_.end() && ratio->second.median > 1.0) {
    const double gain_us = time.median_us * (ratio->second.median - 1);
    timing_->break_even_runs = std::ceil(1e3 * plan_ms / gain_us);
  }
  const double peak = device_.value("peak_bytes_per_s", 0.0);
  const double least_us = peak > 0 ? impossible_us(peak) : 0;
  Outcome outcome;
  outcome.verdict = Verdict::kTimingRejected;
  if (time.rejected) {
    outcome.reason = Reason::kClocksDisagree;
    outcome.message =
        fmt::format("the device's clock measured {:.1f} us, and the host's clock at least {:.1f} us more",
                    time.device_median_us, time.excess_low_us);
    return outcome;
  }
  if (time.median_us < least_us) {
    outcome.reason = Reason::kBelowFloor;
    outcome.message = fmt::format(
        "the program took {:.2f} us, but the memory needs at least {:.2f} us to move the data that must be "
        "moved",
        time.median_us, least_us);
    return outcome;
  }
  return std::nullopt;
}

}  // namespace warpgrade
