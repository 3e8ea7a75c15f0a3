#include "cli/mistakes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <iterator>
#include <map>

#include "record/view.h"

namespace warpgrade {
namespace {

std::string without_numbers(const std::string& text) {
  std::string kept;
  for (char c : text) {
    if (!std::isdigit(static_cast<unsigned char>(c)) && c != '-' && c != '.') kept += c;
  }
  return kept;
}

// What stays the same from case to case.
std::string signature(const Record& record) {
  const Outcome& outcome = record.outcome;
  const std::string text = fmt::format("{}|{}|", word_of(outcome.verdict), word_of(outcome.reason));
  for (const Diagnostic finding : record.diagnostics)
    if (finding.line && !finding.file.empty())
      return text + fmt::format("{}|{}|{}", finding.kind, finding.file, *finding.line);
  // "c[0,0] want 1 got 2; only rows longer than 32 are wrong": what the wrong cells have in common tells one
  // mistake from another, the first of them does not.
  if (outcome.verdict != Verdict::kWrongAnswer) return text + without_numbers(outcome.message);
  const std::size_t behind_first = std::min(outcome.message.find("; "), outcome.message.size());
  return text + without_numbers(outcome.message.substr(behind_first));
}

bool is_failure(const Record& record) {
  return is_mistake(record.outcome.verdict) || record.outcome.verdict == Verdict::kJudgeFault;
}

}  // namespace

std::vector<Mistake> sort_by_mistake(const std::vector<Record>& records) {
  std::vector<Mistake> mistakes;
  std::map<std::string, std::size_t> place;
  for (const Record& record : records) {
    if (!is_failure(record)) continue;
    const auto [found, is_new] = place.try_emplace(signature(record), mistakes.size());
    if (is_new)
      mistakes.push_back({record, {}});
    else
      mistakes[found->second].other_cases.push_back(record.test_case.id);
  }
  std::ranges::stable_sort(mistakes, std::greater(), [](const Mistake& mistake) {
    return facts(mistake.record.outcome.verdict).severity;
  });
  return mistakes;
}

}  // namespace warpgrade
