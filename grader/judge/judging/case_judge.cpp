#include "judge/judging/case_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "base/hash.h"
#include "base/inject.h"
#include "base/process.h"
#include "base/text.h"
#include "judge/judging/diagnosis.h"
#include "judge/judging/verdict.h"
#include "judge/measure/nvml.h"

namespace warpgrade {
namespace {

using protocol::Op;
using Clock = std::chrono::steady_clock;

constexpr int kSlowBaselinePairs = 7;    // of a baseline that is not in every pair,
constexpr double kSlowBaselineUs = 5e5;  // or until it has taken this long
constexpr double kThrottledShare = 0.2;  // of the pairs may be redone,
constexpr double kVoidShare = 0.2;       // and as many whose start was not known in time;
constexpr int kFewVoids = 8;             // these do when most runs are void and the case's time is over: a
                                         // program that works for seconds before its kernels costs minutes
constexpr int kPreparedAhead = 2;        // processes of a submission's next cases
constexpr const char* kStartOfProgram = "the start of the program";
constexpr std::size_t kMostOutput = 4000;  // bytes of what it printed, in a failed case's record
// On the emulator a launch may take this many times what a whole run of the naive solution takes, and never
// less than the floor: a few seconds' work.
constexpr double kStepsOverNaive = 50, kLeastSteps = 5e7;

double elapsed_s(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

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

CaseJudge::CaseJudge(const JudgeContext& context, CaseSpec spec, std::string prefix)
    : context_(context),
      spec_(std::move(spec)),
      prefix_(std::move(prefix)),
      device_memory_(context.submission.limits.device_memory_bytes) {
  timed_ = context_.backend == "cuda" && context_.measure_speed && spec_.kind == "speed";
  phases_.enter("open");  // a lab's own constructor reads or draws its input
}

CaseJudge::~CaseJudge() = default;

nlohmann::json CaseJudge::judge() {
  const auto start = Clock::now();
  take_turn();
  // A submission's first case has no process on its way yet: it comes up while the input is opened.
  // (Baselines are not sent for as early: on an H200 contexts that came up side by side took half a second
  // longer in all.)
  context_.services->prepare(context_.submission, 1);
  buffers_ = open_buffers();
  device_ = buffers_->describe();
  Outcome outcome;
  {
    const Phases::Scope verifying(phases_, "verify");  // what is none of the phases within
    outcome = judge_submission();
  }
  take_turn();
  prepare_next(kPreparedAhead);
  phases_.enter("close");
  nlohmann::json record;
  describe_case(record);
  describe_plan(record);
  describe_speed(record);
  collect_reports(record, outcome);
  if (!outcome.accepted()) add_help(outcome);
  record["outcome"] = outcome.to_json();
  record["verification"] = {{"repetitions", repetitions_},
                            {"methods", methods_},
                            {"cells_checked", cells_checked_},
                            {"max_error_over_bound", max_error_over_bound_}};
  if (max_rms_over_limit_ > 0) record["verification"]["max_rms_over_limit"] = max_rms_over_limit_;
  if (!order_.plans.empty()) record["verification"]["order"] = order_.text();
  if (!mismatches_.is_null()) {
    record["mismatches"] = mismatches_;
    if (!pattern_.empty()) record["pattern"] = pattern_;
  }
  record["device"] = device_;
  if (submission_ && submission_->turn() > 0) record["executor_serves"] = submission_->turn();
  context_.services->retire(context_.submission, std::move(submission_), context_.cases_after > 0);
  buffers_.reset();
  record["wall_s"] = elapsed_s(start);
  record["phases"] = phases_.to_json();
  return record;
}

std::uint64_t CaseJudge::seed(const std::string& purpose) const {
  const std::string digits = Sha256().part(context_.seed).part(spec_.id).part(purpose).hex();
  return std::stoull(digits.substr(0, 16), nullptr, 16);
}

void CaseJudge::count_check(const std::string& method, std::int64_t cells, double max_error_over_bound) {
  inject("check", context_.submission.label);
  methods_.insert(method);
  cells_checked_ += cells;
  max_error_over_bound_ = std::max(max_error_over_bound_, max_error_over_bound);
}

// The GPU is shared with other judges, or this case's alone.
void CaseJudge::take_turn() {
  const Phases::Scope waiting(phases_, "lease_wait");
  if (context_.alone)
    context_.services->lease().own();
  else
    context_.services->lease().share();
}

// Nothing of this judge is left at work on the GPU.
void CaseJudge::settle() {
  const Phases::Scope settling(phases_, "settle");
  context_.services->settle();
}

// Brings up the processes of the next cases, `most` at a time, while the GPU is shared. Where this submission
// needs the GPU for itself, only one: more would take memory from it.
void CaseJudge::prepare_next(int most) {
  const int at_once = context_.alone || context_.backend == "emulator" ? 1 : most;
  // The next submission's executor comes up behind the timed runs of the last case but one: sent for in the
  // last case, it would not be up when the GPU must be quiet, and that case's timing would wait for it. After
  // a case that ended its executor the next case may well end its own: another one comes up meanwhile.
  const bool is_time = context_.cases_after == 0 || (context_.cases_after == 1 && most > 1) ||
                       context_.services->lost_executor();
  if (is_time) context_.services->prepare_executor(context_.submission);
  if (context_.cases_after > 0)
    context_.services->prepare(context_.submission, std::min(at_once, context_.cases_after));
}

// Another judge waits to time: this one's processes are stopped meanwhile.
void CaseJudge::let_others_go_first() {
  const Phases::Scope waiting(phases_, "lease_wait");
  context_.services->lease().yield_to_owner(
      [&] {
        settle();
        if (submission_) submission_->pause();
      },
      [&] {
        if (submission_) submission_->resume();
      });
}

// On the emulator an endless loop is found after so many steps, whatever else the machine does meanwhile.
std::optional<Outcome> CaseJudge::limit_steps() {
  const double naive = naive_steps();
  if (context_.backend != "emulator" || naive <= 0) return std::nullopt;
  const double most = std::max(kLeastSteps, kStepsOverNaive * naive);
  const Answer answer = submission_->call(Op::kLimitSteps, {std::llround(most)});
  if (answer.ok()) return std::nullopt;
  return submission_->explain(answer, kStartOfProgram);
}

std::optional<Outcome> CaseJudge::start_submission() {
  inject("start", context_.submission.label);
  let_others_go_first();
  const Phases::Scope starting(phases_, "runner_start");
  submission_ = context_.services->start(context_.submission);
  prepare_next(1);
  if (auto fault = limit_steps()) return fault;
  return attach(*submission_, Output::kSubmission);
}

std::optional<Outcome> CaseJudge::free_plan() {
  let_others_go_first();
  const Phases::Scope freeing(phases_, "plan");
  const Answer answer = submission_->call(Op::kFree);
  if (answer.ok()) return std::nullopt;
  return submission_->explain(answer, prefix_ + "_free");
}

Outcome CaseJudge::judge_submission() {
  if (auto fault = start_submission()) return *fault;
  if (auto fault = judge_in_order()) return *fault;
  return {};
}

std::optional<Outcome> CaseJudge::checked_run() {
  if (auto fault = run_once(refresh_for_check())) return fault;
  return verify_checked_run();
}

std::optional<Outcome> CaseJudge::judge_in_order() {
  order_ = draw_run_order(seed("order"), least_runs(), timed());
  for (std::size_t number = 0; number < order_.plans.size(); ++number) {
    const PlannedRuns& runs = order_.plans[number];
    prepare_plan(static_cast<int>(number), runs.timed);
    if (auto fault = plan()) return fault;
    for (int run = 0; run < runs.before; ++run) {
      if (auto fault = checked_run()) return fault;
    }
    if (runs.timed) {
      if (auto fault = timed_phase()) return fault;
    }
    for (int run = 0; run < runs.after; ++run) {
      if (auto fault = checked_run()) return fault;
    }
    if (auto fault = free_plan()) return fault;
  }
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

std::optional<Outcome> CaseJudge::run_once(const Arguments& arguments) {
  inject("run", context_.submission.label);
  let_others_go_first();
  const Phases::Scope running(phases_, "run");
  buffers_->poison(Output::kSubmission);
  const Answer answer = submission_->call(Op::kRun, arguments);
  buffers_->snapshot(Output::kSubmission);
  ++repetitions_;
  if (!answer.ok()) return submission_->explain(answer, run_name());
  if (auto over = device_memory_.check(free_device_memory(), run_name())) return over;
  return integrity_fault(run_name());
}

std::optional<Outcome> CaseJudge::attach(RunnerProcess& runner, Output output) {
  const bool protect = context_.backend == "emulator";  // a GPU's write is found by comparison instead
  for (const SharedBuffer& buffer : buffers_->input_buffers()) {
    const Answer answer = runner.attach(buffer, protect);
    if (!answer.ok()) return runner.explain(answer, kStartOfProgram);
  }
  for (const SharedBuffer& buffer : buffers_->output_buffers(output)) {
    const Answer answer = runner.attach(buffer, false);
    if (!answer.ok()) return runner.explain(answer, kStartOfProgram);
  }
  return std::nullopt;
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

std::optional<Outcome> CaseJudge::plan() {
  inject("plan", context_.submission.label);
  let_others_go_first();
  const Phases::Scope planning(phases_, "plan");
  device_memory_.begin(free_device_memory());
  const Answer answer = submission_->call(Op::kPlan, plan_arguments());
  if (!answer.ok()) return submission_->explain(answer, plan_name());
  if (auto over = device_memory_.check(free_device_memory(), plan_name())) return over;
  plan_ms_ = 1e-3 * answer.reply.host_us;
  if (submission_->turn() > 0) plan_device_bytes_ = answer.reply.bytes;
  return integrity_fault(plan_name());
}

std::optional<Outcome> CaseJudge::integrity_fault(const std::string& doing) {
  const Integrity integrity = buffers_->check_integrity();
  if (integrity.ok()) return std::nullopt;
  Outcome outcome;
  if (!integrity.damaged_guard.empty()) {
    outcome.verdict = verdicts::kRuntimeError;
    outcome.reason = "out_of_bounds";
    outcome.message =
        fmt::format("{} wrote {} {}", doing, integrity.guard_behind ? "past the end of" : "in front of",
                    integrity.damaged_guard);
  } else {
    outcome.verdict = verdicts::kWrongAnswer;
    outcome.reason = "input_modified";
    outcome.message =
        fmt::format("{} changed its input {}: inputs are read-only", doing, integrity.modified_input);
  }
  return outcome;
}

// ---- timing ----

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
  const auto start = Clock::now();
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
          (voids >= kFewVoids && voids > timing.pairs() && elapsed_s(start) > context_.speed_budget_s))
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
    if (timing.pairs() >= context_.least_pairs && elapsed_s(start) > context_.speed_budget_s) {
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

// ---- the record ----

std::string CaseJudge::dataset_kind() const {
  if (spec_.details.value("imported", false)) return "real";
  return spec_.set.starts_with("real") ? "real" : spec_.set == "stand-in" ? "stand-in" : "synthetic";
}

nlohmann::json CaseJudge::case_json() const {
  return {{"id", spec_.id},
          {"dataset", spec_.dataset},
          {"k", spec_.k},
          {"kind", spec_.kind},
          {"dataset_kind", dataset_kind()}};
}

// Its time says nothing on the emulator.
void CaseJudge::describe_plan(nlohmann::json& record) const {
  if (!plan_ms_) return;
  nlohmann::json plan = nlohmann::json::object();
  if (context_.backend == "cuda") plan["ms"] = *plan_ms_;
  if (plan_device_bytes_) plan["device_bytes"] = *plan_device_bytes_;
  if (!plan.empty()) record["plan"] = plan;
}

void CaseJudge::describe_speed(nlohmann::json& record) const {
  if (timing_.is_null()) return;
  record["timing"] = timing_;
  record["ratios"] = ratios_;
  record["ratios_with_host"] = ratios_with_host_;
  const double median_us = timing_.at("median_us");
  if (items() > 0) record["throughput_per_s"] = 1e6 * items() / median_us;
  const double bytes = compulsory_bytes();
  const double peak = device_.value("peak_bytes_per_s", 0.0);
  if (peak <= 0) return;
  record["floor"] = {{"compulsory_bytes", bytes},
                     {"peak_bytes_per_s", peak},
                     {"floor_us", 1e6 * bytes / peak},
                     {"fraction", 1e6 * bytes / peak / median_us}};
}

// The emulator's findings: feedback, and reason enough to lower a verdict.
void CaseJudge::collect_reports(nlohmann::json& record, Outcome& outcome) {
  if (context_.backend != "emulator") {
    // What the CUDA runtime of the host process had to refuse.
    const nlohmann::json refused = submission_->drain_diagnostics();
    if (!refused.empty()) record["diagnostics"] = refused;
    explain_refusal(refused, outcome);
    return add_notes(record, outcome);
  }
  const nlohmann::json diagnostics = order_diagnostics(submission_->drain_diagnostics());
  const nlohmann::json counters = submission_->drain_counters();
  if (!diagnostics.empty()) record["diagnostics"] = diagnostics;
  if (!counters.empty()) record["counters"] = summarize_counters(counters);
  apply_diagnostics(diagnostics, outcome);
  add_notes(record, outcome);
}

// What the runner saw, beside the emulator's findings; where those say the same with a line, they are enough.
void CaseJudge::add_notes(nlohmann::json& record, Outcome& outcome) {
  nlohmann::json& told = record["diagnostics"];
  for (nlohmann::json& note : submission_->notes()) {
    const bool known = std::any_of(told.begin(), told.end(), [&](const nlohmann::json& finding) {
      return finding.value("kind", "") == note.value("kind", "");
    });
    if (known) continue;
    const bool explains =
        outcome.verdict == verdicts::kWrongAnswer && note.value("kind", "") == "invalid_launch";
    if (explains) outcome.message += "; " + note.at("message").get<std::string>();
    told.push_back(std::move(note));
  }
  if (told.empty()) record.erase("diagnostics");
}

void CaseJudge::add_help(Outcome& outcome) {
  const std::string output = submission_->output();
  if (!output.empty()) outcome.details["output"] = tail_of(output, kMostOutput);
  if (!pattern_.empty()) outcome.details["pattern"] = pattern_;
  outcome.details["repetition"] = repetitions_;
}

}  // namespace warpgrade
