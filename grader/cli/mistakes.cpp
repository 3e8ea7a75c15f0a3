#include "cli/mistakes.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>

#include "record/outcome.h"

namespace warpgrade {
namespace {

using nlohmann::json;

std::string mistake_text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string without_numbers(const std::string& text) {
  std::string kept;
  for (char c : text) {
    if (!std::isdigit(static_cast<unsigned char>(c)) && c != '-' && c != '.') kept += c;
  }
  return kept;
}

// What stays the same from case to case.
std::string signature(const json& record) {
  const json& outcome = record.at("outcome");
  std::string text = mistake_text(outcome, "verdict") + "|" + mistake_text(outcome, "reason");
  const json findings = record.value("diagnostics", json::array());
  for (const json& finding : findings) {
    if (!finding.contains("line") || mistake_text(finding, "file").empty()) continue;
    return text + "|" + mistake_text(finding, "kind") + "|" + mistake_text(finding, "file") + "|" +
           finding["line"].dump();
  }
  // "c[0,0] want 1 got 2; only rows longer than 32 are wrong": what the wrong cells have in common tells one
  // mistake from another, the first of them does not.
  const std::string message = mistake_text(outcome, "message");
  const std::size_t behind_first = message.find("; ");
  if (outcome_of(record).verdict == Verdict::kWrongAnswer)
    return text + "|" +
           (behind_first == std::string::npos ? "" : without_numbers(message.substr(behind_first)));
  return text + "|" + without_numbers(message);
}

int urgency(const json& record) {
  return -facts(outcome_of(record).verdict).severity;
}

bool is_failure(const json& record) {
  const Verdict verdict = outcome_of(record).verdict;
  return is_mistake(verdict) || verdict == Verdict::kJudgeFault;
}

}  // namespace

std::vector<Mistake> sort_by_mistake(const std::vector<json>& records) {
  std::vector<Mistake> mistakes;
  std::map<std::string, std::size_t> place;
  for (const json& record : records) {
    if (!is_failure(record)) continue;
    const auto [found, is_new] = place.try_emplace(signature(record), mistakes.size());
    if (is_new)
      mistakes.push_back({record, {}});
    else
      mistakes[found->second].other_cases.push_back(record.at("case").at("id"));
  }
  std::stable_sort(mistakes.begin(), mistakes.end(),
                   [](const Mistake& a, const Mistake& b) { return urgency(a.record) < urgency(b.record); });
  return mistakes;
}

}  // namespace warpgrade
