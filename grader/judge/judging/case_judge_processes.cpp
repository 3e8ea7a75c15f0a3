// The processes of a case's timed phase: five of the submission and five of each baseline, which take their
// places pair by pair.
#include <utility>

#include "base/error.h"
#include "judge/judging/timed_phase.h"

namespace warpgrade {

using protocol::Op;

// Whether the baseline goes its whole way in a fresh process.
bool CaseJudge::works_alone(const TimedBaseline& baseline) {
  RunnerProcess fresh(baseline.spec);
  return !attach(fresh) && fresh.call(Op::kPlan, plan_arguments()).ok() &&
         fresh.call(Op::kRun, refresh_for_timing()).ok();
}

bool CaseJudge::run_baseline_aside(const Arguments& arguments) {
  const RunnerSpec& spec = context_.baselines.front().spec;
  submission_->pause();
  auto runner = context_.services->borrow(spec);
  bool ran = !attach(*runner) && runner->call(Op::kPlan, plan_arguments()).ok();
  if (ran) {
    buffers_->poison();
    ran = runner->call(Op::kRun, arguments).ok();
    buffers_->snapshot();
  }
  context_.services->give_back(spec, std::move(runner));
  submission_->resume();
  return ran;
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

// The next process of the submission and the next one of each baseline take the places of those before.
std::optional<Outcome> CaseJudge::next_process_pair() {
  timed_phases_.enter("processes");
  if (phase_->first) {
    if (auto fault = end_partner(false)) return fault;
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
    if (!freed.ok()) return submission_->explain(freed, called(prefix_ + "_free"));
    submission_->pause();
    first_gave_plan_back_ = true;
  }
  if (auto fault = take_partner()) return fault;
  const Answer planned = timed_turn(*submission_, Op::kPlan, plan_arguments());
  if (!planned.ok()) return submission_->explain(planned, called(plan_name()));
  return integrity_fault(called(plan_name()));
}

std::optional<Outcome> CaseJudge::end_partner(bool is_last) {
  submission_->resume();
  const Answer freed = submission_->call(Op::kFree);
  if (!freed.ok()) return submission_->explain(freed, called(prefix_ + "_free"));
  retire_partner(std::exchange(submission_, std::move(phase_->first)));
  if (!is_last || !std::exchange(first_gave_plan_back_, false)) return std::nullopt;
  submission_->resume();
  const Answer planned = submission_->call(Op::kPlan, plan_arguments());
  if (!planned.ok()) return submission_->explain(planned, called(plan_name()));
  return integrity_fault(called(plan_name()));
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

std::optional<Outcome> CaseJudge::start_baselines() {
  let_others_go_first();
  const Phases::Scope starting(phases_, "baselines");
  const int ahead = context_.services->has_room() ? context_.process_pairs : 1;
  for (const auto& entry : context_.baselines) {
    TimedBaseline baseline{entry.name, entry.spec, entry.every_pair, entry.for_truth};
    if (context_.baseline_budget_s && !entry.for_truth)
      baseline.budget_us = 1e6 * *context_.baseline_budget_s;
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

}  // namespace warpgrade
