#include "judge/judging/case_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/inject.h"
#include "judge/judging/shared_host_memory.h"
#include "judge/judging/tape_keeper.h"
#include "judge/judging/timed_phase.h"
#include "record/outcome.h"

namespace warpgrade {
namespace {

using protocol::Op;

constexpr const char* kStartOfProgram = "the start of the program";
// On the emulator a launch may take this many times what a whole run of the naive solution takes, and never
// less than the floor: a few seconds' work.
constexpr double kStepsOverNaive = 50, kLeastSteps = 5e7;

}  // namespace

CaseJudge::CaseJudge(const JudgeContext& context, Case spec, std::string prefix)
    : context_(context),
      spec_(std::move(spec)),
      prefix_(std::move(prefix)),
      budget_(std::make_shared<CaseBudget>(context.submission.limits.all_calls)),
      device_memory_(
          context.submission.limits.device_memory_bytes,
          spreads_timing() ? DeviceMemoryLimit::kOwnTimedProcesses : DeviceMemoryLimit::kOwnProcesses) {
  timed_ = is_timed(context_, spec_);
  phases_.enter("open");  // a lab's own constructor reads or draws its input
}

CaseJudge::~CaseJudge() = default;

Record CaseJudge::judge() {
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
  Record record;
  describe_case(record);
  describe_plan(record);
  describe_speed(record);
  // What it is asked from here on is the judge's business. Nor can a program that has used up its time
  // hide who wrote.
  submission_->use_budget(nullptr);
  collect_reports(record, outcome);
  describe_calls(record, outcome);
  add_output(outcome);
  if (!outcome.accepted()) add_help(outcome);
  if (outcome.accepted() && writers_.needs_probe()) {
    try {
      probe_writers();
    } catch (const JudgeFault&) {  // the case is judged; the kernels have the benefit of the doubt
    }
  }
  if (writers_.is_known()) record.outputs_by = writers_.record();
  if (const auto& left = submission_->unordered(); left.commands > 0)
    record.unordered_work = {{"commands", left.commands}, {"last", left.last}};
  record.outcome = outcome;
  Verification& verification = record.verification.emplace(checks_.verification());
  describe_verification(verification);
  if (!order_.plans.empty()) verification.order = order_.text();
  record.outputs_noted = outputs_noted_;
  record.mismatches = mismatches_;
  if (!mismatches_.is_null()) record.pattern = pattern_;
  record.device = device_;
  if (submission_ && submission_->turn() > 0) record.executor_serves = submission_->turn();
  context_.services->retire(context_.submission, std::move(submission_), context_.cases_after > 0);
  buffers_.reset();
  record.wall_s = seconds_since(began_);
  record.phases = phases_.seconds();
  return record;
}

std::uint64_t CaseJudge::seed(const std::string& purpose) const {
  return Sha256().part(context_.seed).part(spec_.id).part(purpose).number();
}

void CaseJudge::count_check(const std::string& method, std::int64_t cells, double max_error_over_bound) {
  inject("check", context_.submission.label);
  checks_.count(method, cells, max_error_over_bound);
}

// The GPU is shared with other judges, or this case's alone.
void CaseJudge::take_turn() {
  const Phases::Scope waiting(phases_, "lease_wait");
  if (context_.alone)
    context_.services->lease().own();
  else
    context_.services->lease().share();
}

// Whether processes for timing are brought up before they are needed.
bool CaseJudge::spreads_timing() const {
  return context_.backend == "cuda" && context_.measure_speed && context_.services->has_room();
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
  const int executors = executors_ahead(most > 1);
  if (executors > 0) context_.services->prepare_executors(context_.submission, executors);
  if (context_.cases_after > 0)
    context_.services->prepare(context_.submission, std::min(at_once, context_.cases_after));
}

// How many executors should wait for their program now: this submission's own, of which its first timed case
// needs several, and those of the submission that comes next. These are sent for together, which takes a
// second and more (one after another takes longer in all), and a timed phase waits until the GPU is quiet. So
// they come up beside cases that are not timed, or else half of them beside the first case and the others
// behind the timed runs of the last case but one: no case waits for all.
int CaseJudge::executors_ahead(bool behind_runs) const {
  const bool spreads = spreads_timing();
  const bool ends = context_.cases_after == 0 || (context_.cases_after == 1 && behind_runs);
  // After a case that ended its executor the next case may well end its own: another one comes up meanwhile.
  int of_next = context_.services->lost_executor() ? 1 : 0;
  if (context_.another_follows && spreads)
    of_next = ends || !timed_ ? context_.process_pairs : (context_.process_pairs + 1) / 2;
  else if (context_.another_follows && ends)
    of_next = 1;
  if (of_next == 0) return 0;
  const bool is_over = behind_runs && context_.cases_after == 0;
  const int own = context_.process_pairs - 1 - context_.services->kept_partners();
  return of_next + (spreads && !is_over ? std::max(0, own) : 0);
}

// Another judge waits to time: this one's processes are stopped meanwhile, those that map buffers when they
// have done so.
void CaseJudge::let_others_go_first() {
  const Phases::Scope waiting(phases_, "lease_wait");
  context_.services->lease().yield_to_owner(
      [&] {
        if (phase_) pause_waiting();
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
  submission_->use_budget(budget_);
  prepare_next(1);
  if (auto fault = limit_steps()) return fault;
  return attach(*submission_);
}

std::optional<Outcome> CaseJudge::free_plan() {
  let_others_go_first();
  const Phases::Scope freeing(phases_, "plan");
  const Answer answer = submission_->call(Op::kFree);
  if (answer.ok()) return std::nullopt;
  return submission_->explain(answer, called(prefix_ + "_free"));
}

Outcome CaseJudge::judge_submission() {
  if (auto fault = start_submission()) return *fault;
  if (auto fault = judge_in_order()) return *fault;
  return {};
}

std::optional<Outcome> CaseJudge::checked_run() {
  if (auto fault = run_once(refresh_for_check())) return fault;
  auto wrong = verify_checked_run();
  if (wrong && wrong->verdict == Verdict::kWrongAnswer)
    wrong->message += checks_.text_of_right(inputs_of_run());
  if (!wrong) checks_.count_right(inputs_of_run());
  return wrong;
}

// The bits that the program wrote, whatever the check thinks of them.
void CaseJudge::note_outputs() {
  Sha256 hash;
  for (const SharedBuffer& buffer : buffers_->output_buffers()) hash.part(sha256_of_payload(buffer));
  outputs_noted_.push_back(hash.hex());
}

std::optional<Outcome> CaseJudge::judge_in_order() {
  order_ = draw_run_order(order_seed(), least_runs(), timed());
  count_behind_timing();
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

// The rest of the timed plan and the plans behind it, and what one pair more may need.
void CaseJudge::count_behind_timing() {
  behind_timing_ = {1, 1, 1};
  bool is_behind = false;
  for (const PlannedRuns& runs : order_.plans) {
    if (is_behind) ++behind_timing_.plans;
    if (is_behind) behind_timing_.runs += runs.before;
    is_behind = is_behind || runs.timed;
    if (!is_behind) continue;
    behind_timing_.runs += runs.after;
    ++behind_timing_.frees;
  }
}

// What the first run is given, before the submission has touched it.
void CaseJudge::keep_first_calls(const Arguments& arguments) {
  if (context_.keep_calls.empty() || context_.backend != "emulator" || checks_.repetitions() > 0) return;
  std::vector<SharedBuffer> buffers = buffers_->input_buffers();
  for (SharedBuffer& buffer : buffers_->output_buffers()) buffers.push_back(std::move(buffer));
  keep_calls(context_.keep_calls, context_.submission.executable, buffers, plan_arguments(), arguments);
}

std::optional<Outcome> CaseJudge::run_once(const Arguments& arguments) {
  inject("run", context_.submission.label);
  let_others_go_first();
  const Phases::Scope running(phases_, "run");
  buffers_->poison();
  keep_first_calls(arguments);
  const Answer answer = submission_->call(Op::kRun, arguments, protocol::Follow::kWriters);
  buffers_->snapshot();
  checks_.begin_run();
  if (!answer.ok()) return submission_->explain(answer, called(run_name()));
  if (context_.note_outputs && context_.backend == "emulator") note_outputs();
  if (submission_->turn() > 0) writers_.add(answer.reply.written);
  if (context_.order_required && submission_->unordered().commands > 0) return left_work();
  if (auto over = device_memory_.check(free_device_memory(), called(run_name()))) return over;
  return integrity_fault(called(run_name()));
}

Outcome CaseJudge::left_work() const {
  return {Verdict::kWrongAnswer, Reason::kUnordered,
          fmt::format("{}; the policy requires an order", text_of(submission_->unordered()))};
}

// One run more, of which nothing counts but who wrote: what the host copies into outputs is replaced, and
// what no kernel writes stays replaced. It comes when all else is recorded.
void CaseJudge::probe_writers() {
  let_others_go_first();
  const Phases::Scope probing(phases_, "writers_probe");
  if (!submission_->call(Op::kPlan, plan_arguments()).ok()) return;
  const Arguments arguments = refresh_for_check();
  buffers_->poison();
  const Answer answer = submission_->call(Op::kRun, arguments, protocol::Follow::kProbe);
  if (answer.ok()) writers_.add_probe(answer.reply.written);
  submission_->call(Op::kFree);
}

std::optional<Outcome> CaseJudge::attach(RunnerProcess& runner) {
  const bool protect = context_.backend == "emulator";  // a GPU's write is found by comparison instead
  std::map<std::string, std::uint32_t> elements;
  if (runner.is_in_python()) {
    if (const auto contract = declaration::find_python_contract(prefix_))
      elements = declaration::element_bytes(*contract);
  }
  const auto give = [&](SharedBuffer buffer, bool read_only, bool is_output) -> std::optional<Outcome> {
    buffer.element_bytes = elements[buffer.name];
    const Answer answer = runner.attach(buffer, read_only, is_output);
    if (!answer.ok()) return runner.explain(answer, kStartOfProgram);
    return std::nullopt;
  };
  for (const SharedBuffer& buffer : buffers_->input_buffers())
    if (auto failed = give(buffer, protect, false)) return failed;
  for (const SharedBuffer& buffer : buffers_->output_buffers())
    if (auto failed = give(buffer, false, true)) return failed;
  return std::nullopt;
}

std::optional<Outcome> CaseJudge::plan() {
  inject("plan", context_.submission.label);
  let_others_go_first();
  const Phases::Scope planning(phases_, "plan");
  device_memory_.begin(free_device_memory());
  const Answer answer = submission_->call(Op::kPlan, plan_arguments());
  if (!answer.ok()) return submission_->explain(answer, called(plan_name()));
  if (auto over = device_memory_.check(free_device_memory(), called(plan_name()))) return over;
  plan_ms_ = 1e-3 * answer.reply.host_us;
  if (submission_->turn() > 0) plan_device_bytes_ = answer.reply.bytes;
  return integrity_fault(called(plan_name()));
}

std::optional<Outcome> CaseJudge::integrity_fault(const std::string& doing) {
  const Integrity integrity = buffers_->check_integrity();
  if (integrity.ok()) return std::nullopt;
  Outcome outcome;
  if (!integrity.damaged_guard.empty()) {
    outcome.verdict = Verdict::kRuntimeError;
    outcome.reason = Reason::kOutOfBounds;
    outcome.message =
        fmt::format("{} wrote {} {}", doing, integrity.guard_behind ? "past the end of" : "in front of",
                    integrity.damaged_guard);
  } else {
    outcome.verdict = Verdict::kWrongAnswer;
    outcome.reason = Reason::kInputModified;
    outcome.message =
        fmt::format("{} changed its input {}: inputs are read-only", doing, integrity.modified_input);
  }
  return outcome;
}

}  // namespace warpgrade
