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

// What the calls took, and beside a limit of time whether others may have brought it about. Steps of the
// emulator are the same whatever else the machine does.
void CaseJudge::describe_calls(nlohmann::json& record, Outcome& outcome) const {
  record["calls"] = budget_->to_json();
  if (outcome.verdict != Verdict::kTimeLimit) return;
  if (outcome.reason != Reason::kOutOfTime ||
      ended_by_steps(record.value("diagnostics", nlohmann::json::array()))) {
    record["calls"]["busy"] = false;
    return;
  }
  outcome.message += fmt::format(" ({})", budget_->text());
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
  nlohmann::json& diagnostics = record["diagnostics"];
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
  if (diagnostics.empty()) record.erase("diagnostics");
}

// Of a right program as well: whoever prints wants to read it.
void CaseJudge::add_output(Outcome& outcome) {
  const std::string output = submission_->output();
  if (!output.empty()) outcome.details["output"] = tail_of(output, kMostOutput);
}

void CaseJudge::add_help(Outcome& outcome) {
  if (!pattern_.empty()) outcome.details["pattern"] = pattern_;
  outcome.details["repetition"] = repetitions_;
}

}  // namespace warpgrade
