// What a case's record says of the case, the speed and the findings.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "judge/judging/case_judge.h"
#include "judge/judging/diagnosis.h"
#include "record/outcome.h"

namespace warpgrade {
namespace {

constexpr std::size_t kMostOutput = 4000;  // bytes of what it printed, in a case's record

}  // namespace

std::string CaseJudge::called(const std::string& function) const {
  const bool in_python = submission_ && submission_->is_in_python() && function.starts_with(prefix_ + "_");
  return in_python ? function.substr(prefix_.size() + 1) : function;
}

std::string CaseJudge::dataset_kind() const {
  if (spec_.details.value("imported", false)) return "real";
  return spec_.set.starts_with("real") ? "real" : spec_.set == "stand-in" ? "stand-in" : "synthetic";
}

Case CaseJudge::described_case() const {
  Case described;
  described.details = nullptr;
  described.id = spec_.id;
  described.dataset = spec_.dataset;
  described.width = spec_.width;
  described.kind = spec_.kind;
  described.dataset_kind = dataset_kind();
  return described;
}

// Its time says nothing on the emulator.
void CaseJudge::describe_plan(Record& record) const {
  if (!plan_ms_) return;
  nlohmann::json plan = nlohmann::json::object();
  if (context_.backend == "cuda") plan["ms"] = *plan_ms_;
  if (plan_device_bytes_) plan["device_bytes"] = *plan_device_bytes_;
  if (!plan.empty()) record.plan = plan;
}

void CaseJudge::describe_speed(Record& record) const {
  if (!timing_) return;
  record.timing = timing_;
  record.ratios = ratios_;
  record.ratios_with_host = ratios_with_host_;
  if (items() > 0) record.throughput_per_s = 1e6 * items() / timing_->median_us;
  const double peak = device_.value("peak_bytes_per_s", 0.0);
  if (peak <= 0) return;
  Floor& floor = record.floor.emplace();
  floor.compulsory_bytes = compulsory_bytes();
  floor.peak_bytes_per_s = peak;
  floor.floor_us = 1e6 * *floor.compulsory_bytes / peak;
  floor.fraction = *floor.floor_us / timing_->median_us;
}

// What the calls took, and beside a limit of time whether others may have brought it about. Steps of the
// emulator are the same whatever else the machine does.
void CaseJudge::describe_calls(Record& record, Outcome& outcome) const {
  record.calls = budget_->to_json();
  if (outcome.verdict != Verdict::kTimeLimit) return;
  if (outcome.reason != Reason::kOutOfTime || ended_by_steps(record.diagnostics)) {
    record.calls["busy"] = false;
    return;
  }
  outcome.message += fmt::format(" ({})", budget_->text());
}

// The emulator's findings: feedback, and reason enough to lower a verdict.
void CaseJudge::collect_reports(Record& record, Outcome& outcome) {
  if (context_.backend != "emulator") {
    // What the CUDA runtime of the host process had to refuse.
    const nlohmann::json refused = submission_->drain_diagnostics();
    if (!refused.empty()) record.diagnostics = refused;
    explain_refusal(refused, outcome);
    return add_notes(record, outcome);
  }
  const nlohmann::json diagnostics = order_diagnostics(submission_->drain_diagnostics());
  const nlohmann::json counters = submission_->drain_counters();
  if (!diagnostics.empty()) record.diagnostics = diagnostics;
  if (!counters.empty()) record.counters = summarize_counters(counters);
  apply_diagnostics(diagnostics, outcome);
  add_notes(record, outcome);
}

// What the runner saw, beside the emulator's findings; where those say the same with a line, they are enough.
void CaseJudge::add_notes(Record& record, Outcome& outcome) {
  nlohmann::json& diagnostics = record.diagnostics;
  for (nlohmann::json& note : submission_->notes()) {
    const bool known = std::any_of(
        diagnostics.begin(), diagnostics.end(),
        [&](const nlohmann::json& finding) { return finding.value("kind", "") == note.value("kind", ""); });
    if (known) continue;
    const bool explains =
        outcome.verdict == Verdict::kWrongAnswer && note.value("kind", "") == "invalid_launch";
    if (explains) outcome.message += "; " + note.at("message").get<std::string>();
    diagnostics.push_back(std::move(note));
  }
  if (diagnostics.empty()) diagnostics = nullptr;
}

// Of a right program as well: whoever prints wants to read it.
void CaseJudge::add_output(Outcome& outcome) {
  const std::string output = submission_->output();
  if (!output.empty()) outcome.details["output"] = tail_of(output, kMostOutput);
}

void CaseJudge::add_help(Outcome& outcome) {
  if (!pattern_.empty()) outcome.details["pattern"] = pattern_;
  outcome.details["repetition"] = checks_.repetitions();
}

}  // namespace warpgrade
