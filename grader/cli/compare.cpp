#include "cli/compare.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "base/tables.h"
#include "record/view.h"

namespace warpgrade {
namespace {

using nlohmann::json;

std::string points_of(const std::optional<Scored>& submission) {
  return submission ? fmt::format("{:.2f}", submission->points) : "-";
}

std::string interval(const Ratio& ratio) {
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", ratio.median, ratio.low, ratio.high);
}

void compare_ratios(const std::string& id, const Record& before, const Record& after,
                    std::vector<std::vector<std::string>>& rows) {
  for (const auto& [baseline, old_ratio] : before.ratios) {
    const auto found = after.ratios.find(baseline);
    if (found == after.ratios.end()) continue;
    const Ratio& new_ratio = found->second;
    if (old_ratio.high < new_ratio.low || new_ratio.high < old_ratio.low)
      rows.push_back({id, "over " + baseline, interval(old_ratio), interval(new_ratio)});
  }
}

}  // namespace

std::string score_changes(const json& before, const json& after) {
  std::map<std::string, std::pair<std::optional<Scored>, std::optional<Scored>>> pairs;
  for (const Scored each : before.at("submissions")) pairs[each.id].first = each;
  for (const Scored each : after.at("submissions")) pairs[each.id].second = each;
  std::vector<std::vector<std::string>> rows{
      {"submission", "student or team", "points", "new points", "change", "verdict"}};
  for (const auto& [id, pair] : pairs) {
    const auto& [was, is] = pair;
    const double change = (is ? is->points : 0) - (was ? was->points : 0);
    const std::string old_verdict = was ? was->verdict : "not there",
                      verdict = is ? is->verdict : "not there";
    const bool recounted = was && is && was->counts != is->counts;
    if (std::abs(change) < 0.005 && old_verdict == verdict && !recounted) continue;
    std::string what = old_verdict == verdict ? verdict : old_verdict + " -> " + verdict;
    if (recounted) what += is->counts ? ", counts now" : ", counts no more";
    // The title says who it is: an id may be a name in another script with nothing left of it.
    rows.push_back({id, is ? is->title : was->title, points_of(was), points_of(is),
                    fmt::format("{:+.2f}", change), what});
  }
  return rows.size() == 1 ? "" : format_table(rows);
}

std::string record_changes(const std::vector<Record>& before, const std::vector<Record>& after) {
  std::map<std::string, std::pair<const Record*, const Record*>> pairs;
  const auto key = [](const Record& record) { return record.submission.id + " " + record.test_case.id; };
  for (const Record& record : before) pairs[key(record)].first = &record;
  for (const Record& record : after) pairs[key(record)].second = &record;
  std::vector<std::vector<std::string>> rows{{"submission and case", "what", "first run", "second run"}};
  for (const auto& [id, pair] : pairs) {
    const auto verdict = [](const Record* record) {
      return std::string(record == nullptr ? "not there" : word_of(record->outcome.verdict));
    };
    if (verdict(pair.first) != verdict(pair.second)) {
      rows.push_back({id, "verdict", verdict(pair.first), verdict(pair.second)});
    } else {
      compare_ratios(id, *pair.first, *pair.second, rows);
    }
  }
  return rows.size() == 1 ? "" : format_table(rows);
}

}  // namespace warpgrade
