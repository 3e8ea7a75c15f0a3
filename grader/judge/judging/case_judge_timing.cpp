// A case's timed phase: the submission and the baselines in turn, every repetition verified.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <future>
#include <utility>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/process.h"
#include "judge/judging/case_judge.h"
#include "judge/judging/verdict.h"
#include "judge/measure/nvml.h"

namespace warpgrade {
namespace {

using protocol::Op;

constexpr double kSlowBaselineUs = 5e5;  // a baseline that is not in every pair has one run in each process,
                                         // until it has taken this long
// Pairs that may be redone, as a share of those that are kept, or a few: of pairs while the GPU throttled,
// and of pairs whose start was not known in time. More would let a program choose the runs that count.
constexpr double kRedoneShare = 0.2;
constexpr int kFewRedone = 8;

nlohmann::json gpu_state_json(const std::string& uuid) {
  const auto state = read_gpu_state(uuid);
  return state ? state->to_json() : nlohmann::json();
}

}  // namespace

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
  TimedPhase(const std::string& main_baseline, const JudgeContext& context)
      : timing(main_baseline, context.process_pairs),
        most_runs((context.max_pairs + context.process_pairs - 1) / context.process_pairs),
        least_runs((context.least_pairs + context.process_pairs - 1) / context.process_pairs) {}

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

std::optional<Outcome> CaseJudge::timed_phase() {
  phase_ = std::make_unique<TimedPhase>(context_.baselines.empty() ? "" : context_.baselines.front().name,
                                        context_);
  std::optional<Outcome> fault = time_baselines_and_submission();
  if (!fault && phase_->first) fault = end_partner();
  submission_->resume();
  take_turn();
  prepare_next(kPreparedAhead);
  give_back();
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

// Whether the baseline goes its whole way in a fresh process.
bool CaseJudge::works_alone(const TimedBaseline& baseline) {
  RunnerProcess fresh(baseline.spec);
  return !attach(fresh) && fresh.call(Op::kPlan, plan_arguments()).ok() &&
         fresh.call(Op::kRun, refresh_for_timing()).ok();
}

// A baseline failed while the submission was up: the submission's doing when it held the device's memory and
// the baseline works without it; else a fault of the judge, which is thrown.
Outcome CaseJudge::explain_baseline(const TimedBaseline& baseline, const std::string& words) {
  const auto free_with = free_device_memory();
  submission_->kill();
  if (phase_->first) phase_->first->kill();
  context_.services->forget_prepared();  // of the same program
  settle();
  const auto free_without = free_device_memory();
  auto starved = device_memory_.starved(baseline.name, words, free_with, free_without);
  if (starved && works_alone(baseline)) return *starved;
  throw JudgeFault("baseline {}: {}", baseline.name, words);
}

void CaseJudge::give_back() {
  const Phases::Scope closing(phases_, "close");
  for (TimedBaseline& baseline : phase_->baselines) {
    retire(baseline);
    for (Attached& waiting : baseline.waiting) {
      waiting.attached.wait();
      baseline.runner = std::move(waiting.runner);
      retire(baseline);
    }
    for (auto& runner : baseline.used) {
      baseline.runner = std::move(runner);
      retire(baseline);
    }
  }
  for (Attached& partner : phase_->partners) {
    partner.attached.wait();
    retire_partner(std::move(partner.runner));
  }
  if (phase_->first) context_.services->reap_later(std::move(phase_->first));
}

void CaseJudge::retire(TimedBaseline& baseline) {
  if (!baseline.runner) return;
  if (!baseline.is_kept())
    retire_partner(std::move(baseline.runner));
  else if (context_.services->has_room())
    context_.services->give_back(baseline.spec, std::move(baseline.runner));
  else
    context_.services->reap_later(std::move(baseline.runner));
}

void CaseJudge::retire_partner(std::unique_ptr<RunnerProcess> partner) {
  context_.services->retire_partner(context_.submission, std::move(partner), context_.cases_after > 0);
}

// Runs that the timed phase may still have, as far as it is known: until it is decided next how many.
int CaseJudge::pairs_to_come() const {
  if (!timed()) return 0;
  if (!phase_) return 1 + std::max(kLooks[0], context_.least_pairs / context_.process_pairs);
  const int processes = context_.process_pairs - phase_->process - 1;
  if (phase_->process > 0) return phase_->most_runs * (processes + 1) - phase_->runs;
  int next = phase_->most_runs;
  for (const int look : kLooks)
    if (look > phase_->runs) next = std::min(next, look);
  return next - phase_->runs + (phase_->timing.pairs() == 0 ? 1 : 0);
}

std::optional<Outcome> CaseJudge::measure() {
  const Phases::Scope timing_scope(phases_, "timed");
  timed_phases_ = Phases();
  TimedPhase& phase = *phase_;
  const std::string uuid = device_.value("uuid", "");
  nlohmann::json clocks{{"start", gpu_state_json(uuid)}};
  phase.start = std::chrono::steady_clock::now();
  for (phase.process = 0; phase.process < context_.process_pairs; ++phase.process) {
    phase.runs = 0;
    if (phase.process > 0) {
      if (auto fault = next_process_pair()) return fault;
    }
    if (auto fault = measure_process_pair(uuid)) return fault;
  }
  clocks["end"] = gpu_state_json(uuid);
  timing_ = phase.timing.timing_json(phase.stopped_by);
  timing_["samples"]["clocks"] = std::move(clocks);
  timing_["throttled_redone"] = phase.redone;
  timing_["void_redone"] = phase.voids;
  timing_["phases"] = timed_phases_.to_json();
  ratios_ = phase.timing.ratios_json();
  ratios_with_host_ = phase.timing.ratios_json(PairedTiming::Counted::kDeviceAndHost);
  return finish_timing(phase.timing, phase.baselines.empty() ? "" : phase.baselines.front().name);
}

// What the submission's calls may still take is enough for the least runs of the process pairs to come, and
// for what the order has behind them.
bool CaseJudge::leaves_time() const {
  const int processes = context_.process_pairs - phase_->process - 1;
  CaseBudget::Calls calls = behind_timing_;
  calls.plans += processes;
  calls.runs += processes * (phase_->least_runs + 1);
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
  first.counts = false;
  if (auto fault = timed_pair(first, phase.process == 0 ? Inputs::kFresh : Inputs::kAsBefore)) return fault;
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
    } else if (phase.runs >= phase.least_runs && phase.runs < phase.most_runs &&
               (seconds_since(phase.start) > end_s || !leaves_time())) {
      phase.stopped_by = "budget";
      break;
    }
  }
  return std::nullopt;
}

// The next process of the submission and the next one of each baseline take the places of those before.
std::optional<Outcome> CaseJudge::next_process_pair() {
  timed_phases_.enter("processes");
  if (phase_->first) {
    if (auto fault = end_partner()) return fault;
  }
  for (TimedBaseline& baseline : phase_->baselines) {
    if (auto fault = put_aside(baseline)) return fault;
    if (auto fault = take_next(baseline)) return fault;
  }
  if (auto fault = plan_baselines()) return fault;
  return begin_partner();
}

// Its plan goes now; its buffers are unmapped when nobody is timed.
std::optional<Outcome> CaseJudge::put_aside(TimedBaseline& baseline) {
  baseline.in_process = 0;
  if (!context_.services->has_room()) {
    retire(baseline);
    settle();
    return std::nullopt;
  }
  baseline.runner->resume();
  const Answer answer = baseline.runner->call(Op::kFree);
  if (!answer.ok()) return explain_baseline(baseline, baseline.runner->explain(answer, "free").message);
  baseline.runner->pause();
  baseline.used.push_back(std::move(baseline.runner));
  return std::nullopt;
}

// Two plans of a submission may be more than the device holds: then the first is given back meanwhile.
bool CaseJudge::plans_are_large() const {
  const auto free = free_device_memory();
  return !plan_device_bytes_ || !free || *plan_device_bytes_ > *free / 4;
}

std::optional<Outcome> CaseJudge::begin_partner() {
  const bool is_first = phase_->process == 1;
  if (is_first && plans_are_large()) {
    submission_->resume();
    const Answer freed = submission_->call(Op::kFree);
    if (!freed.ok()) return submission_->explain(freed, prefix_ + "_free");
    submission_->pause();
    first_gave_plan_back_ = true;
  }
  if (auto fault = take_partner()) return fault;
  const Answer planned = timed_turn(*submission_, Op::kPlan, plan_arguments());
  if (!planned.ok()) return submission_->explain(planned, plan_name());
  return integrity_fault(plan_name());
}

std::optional<Outcome> CaseJudge::end_partner() {
  submission_->resume();
  const Answer freed = submission_->call(Op::kFree);
  if (!freed.ok()) return submission_->explain(freed, prefix_ + "_free");
  retire_partner(std::exchange(submission_, std::move(phase_->first)));
  const bool is_last = phase_->process >= context_.process_pairs;
  if (!is_last || !std::exchange(first_gave_plan_back_, false)) return std::nullopt;
  submission_->resume();
  const Answer planned = submission_->call(Op::kPlan, plan_arguments());
  if (!planned.ok()) return submission_->explain(planned, plan_name());
  return integrity_fault(plan_name());
}

void CaseJudge::start_partner() {
  auto partner = context_.services->start_partner(context_.submission);
  auto attached = attach_aside(*partner);
  phase_->partners.push_back({std::move(partner), std::move(attached)});
}

// The submission's next process is in the first one's place; after a fault it stays there: it has
// the messages.
std::optional<Outcome> CaseJudge::take_partner() {
  if (phase_->partners.empty()) start_partner();
  auto attached = std::move(phase_->partners.front().attached);
  phase_->first = std::exchange(submission_, std::move(phase_->partners.front().runner));
  phase_->partners.pop_front();
  auto fault = attached.get();
  submission_->use_budget(budget_);  // behind the commands of another thread
  return fault;
}

// All are on their way before the first is waited for; the GPU must be quiet when the timed phase begins.
void CaseJudge::start_partners() {
  if (!spreads_timing()) return;
  let_others_go_first();
  const Phases::Scope starting(phases_, "partners");
  for (int process = 1; process < context_.process_pairs; ++process) start_partner();
}

// Nobody maps buffers any more, and the processes that wait are stopped.
void CaseJudge::pause_waiting() {
  const Phases::Scope starting(phases_, "partners");
  const auto pause = [](Attached& waiting) {
    waiting.attached.wait();
    waiting.runner->pause();
  };
  for (Attached& partner : phase_->partners) pause(partner);
  for (TimedBaseline& baseline : phase_->baselines) {
    for (Attached& waiting : baseline.waiting) pause(waiting);
  }
}

// The clock's start could not be read in time, again and again: something keeps the executor from its turn.
Outcome CaseJudge::too_many_voids() const {
  Outcome outcome;
  outcome.verdict = verdicts::kTimingRejected;
  outcome.reason = "no_clock";
  outcome.message = fmt::format(
      "{} of {} timed runs could not be timed: host code kept every core busy, or worked for seconds before "
      "its first kernel could start",
      phase_->voids, phase_->tried);
  return outcome;
}

std::optional<Outcome> CaseJudge::start_baselines() {
  let_others_go_first();
  const Phases::Scope starting(phases_, "baselines");
  const int ahead = context_.services->has_room() ? context_.process_pairs : 1;
  for (const auto& entry : context_.baselines) {
    TimedBaseline baseline{entry.name, entry.spec, entry.every_pair};
    if (context_.baseline_budget_s) baseline.budget_us = 1e6 * *context_.baseline_budget_s;
    phase_->baselines.push_back(std::move(baseline));
    for (int process = 0; process < ahead; ++process) start_runner(phase_->baselines.back());
  }
  for (TimedBaseline& baseline : phase_->baselines) {
    if (auto fault = take_next(baseline)) return fault;
  }
  return std::nullopt;
}

// Processes take the case's buffers side by side: to map large ones takes a while in each.
std::future<std::optional<Outcome>> CaseJudge::attach_aside(RunnerProcess& runner) {
  return std::async(std::launch::async, [this, &runner] { return attach(runner); });
}

void CaseJudge::start_runner(TimedBaseline& baseline) {
  auto runner = baseline.is_kept() ? context_.services->borrow(baseline.spec)
                                   : context_.services->start_partner(baseline.spec);
  auto attached = attach_aside(*runner);
  baseline.waiting.push_back({std::move(runner), std::move(attached)});
}

// The baseline's next process, with the case's buffers.
std::optional<Outcome> CaseJudge::take_next(TimedBaseline& baseline) {
  std::string words;
  try {
    if (baseline.waiting.empty()) start_runner(baseline);
    auto attached = std::move(baseline.waiting.front().attached);
    baseline.runner = std::move(baseline.waiting.front().runner);
    baseline.waiting.pop_front();
    if (const auto fault = attached.get()) words = fault->message;
  } catch (const JudgeFault& fault) {  // it did not come up
    words = fault.what();
  }
  if (words.empty()) return std::nullopt;
  return explain_baseline(baseline, words);
}

std::optional<Outcome> CaseJudge::plan_baselines() {
  const Phases::Scope planning(phases_, "baselines");
  for (TimedBaseline& baseline : phase_->baselines) {
    baseline.runner->resume();
    const Answer answer = baseline.runner->call(Op::kPlan, plan_arguments());
    if (!answer.ok()) return explain_baseline(baseline, baseline.runner->explain(answer, "plan").message);
    baseline.runner->pause();
  }
  return std::nullopt;
}

// Everything once on the same fresh inputs; the order turns with every pair.
std::optional<Outcome> CaseJudge::timed_pair(TimedPair& timed, Inputs inputs) {
  timed_phases_.enter("inputs");
  const bool submission_first = phase_->runs % 2 == 0;
  if (inputs == Inputs::kFresh) timed_arguments_ = refresh_for_timing();
  const Arguments& arguments = timed_arguments_;
  if (!submission_first) {
    if (auto fault = timed_baselines(arguments, timed)) return fault;
  }
  if (auto fault = timed_submission(arguments, timed)) return fault;
  if (submission_first) {
    if (auto fault = timed_baselines(arguments, timed)) return fault;
  }
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
  return verify_output();
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

std::optional<Outcome> CaseJudge::timed_baselines(const Arguments& arguments, TimedPair& timed) {
  for (TimedBaseline& baseline : phase_->baselines) {
    if (baseline.done() || (!timed.counts && !baseline.every_pair)) continue;
    timed_phases_.enter("inputs");
    buffers_->poison();
    const Answer answer = timed_turn(*baseline.runner, Op::kRun, arguments);
    if (!answer.ok()) return explain_baseline(baseline, baseline.runner->explain(answer, "run").message);
    timed.is_void = timed.is_void || (answer.reply.flags & protocol::kFlagVoid) != 0;
    const double time_us = std::max(0.0, answer.reply.stamps_us - answer.reply.constant_us);
    timed.sample.baseline_us[baseline.name] = time_us;
    timed.sample.baseline_host_us[baseline.name] = answer.reply.host_us;
    if (&baseline == &phase_->baselines.front()) {
      timed.sample.baseline_clock_excess_us = answer.reply.clock_us - time_us;
      if (!timed.is_void) trusted_constant_us_ = answer.reply.constant_us;
    }
    baseline.spent_us += time_us;
    if (baseline.in_process++ > 0) continue;
    timed_phases_.enter("checks");
    buffers_->snapshot();
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
