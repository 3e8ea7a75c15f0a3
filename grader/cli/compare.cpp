#include "cli/compare.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "base/tables.h"

namespace warpgrade {
namespace {

using nlohmann::json;

std::string points_of(const json* submission) {
  return submission == nullptr ? "-" : fmt::format("{:.2f}", submission->value("points", 0.0));
}

std::string verdict_of(const json* submission) {
  return submission == nullptr ? "not there" : submission->value("verdict", "");
}

bool counts(const json* submission) {
  return submission != nullptr && submission->value("counts", true);
}

// Who it is: an id may be a name in another script with nothing left of it.
std::string title_of(const json* before, const json* after) {
  const json& known = after != nullptr ? *after : *before;
  return known.value("title", "");
}

std::string interval(const json& ratio) {
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", ratio.at("median").get<double>(),
                     ratio.at("low").get<double>(), ratio.at("high").get<double>());
}

void compare_ratios(const std::string& id, const json& before, const json& after,
                    std::vector<std::vector<std::string>>& rows) {
  const json old_ratios = before.value("ratios", json::object()),
             new_ratios = after.value("ratios", json::object());
  for (const auto& [baseline, old_ratio] : old_ratios.items()) {
    if (!new_ratios.contains(baseline)) continue;
    const json& new_ratio = new_ratios[baseline];
    const bool apart =
        old_ratio.at("high") < new_ratio.at("low") || new_ratio.at("high") < old_ratio.at("low");
    if (apart) rows.push_back({id, "over " + baseline, interval(old_ratio), interval(new_ratio)});
  }
}

}  // namespace

std::string score_changes(const json& before, const json& after) {
  std::map<std::string, std::pair<const json*, const json*>> pairs;
  for (const json& submission : before.at("submissions")) pairs[submission.at("id")].first = &submission;
  for (const json& submission : after.at("submissions")) pairs[submission.at("id")].second = &submission;
  std::vector<std::vector<std::string>> rows{
      {"submission", "student or team", "points", "new points", "change", "verdict"}};
  for (const auto& [id, pair] : pairs) {
    const auto& [old_score, new_score] = pair;
    const double change = (new_score != nullptr ? new_score->value("points", 0.0) : 0) -
                          (old_score != nullptr ? old_score->value("points", 0.0) : 0);
    const std::string old_verdict = verdict_of(old_score), new_verdict = verdict_of(new_score);
    const bool both = old_score != nullptr && new_score != nullptr;
    const bool recounted = both && counts(old_score) != counts(new_score);
    if (std::abs(change) < 0.005 && old_verdict == new_verdict && !recounted) continue;
    std::string what = old_verdict == new_verdict ? old_verdict : old_verdict + " -> " + new_verdict;
    if (recounted) what += counts(new_score) ? ", counts now" : ", counts no more";
    rows.push_back({id, title_of(old_score, new_score), points_of(old_score), points_of(new_score),
                    fmt::format("{:+.2f}", change), what});
  }
  return rows.size() == 1 ? "" : format_table(rows);
}

std::string record_changes(const std::vector<json>& before, const std::vector<json>& after) {
  std::map<std::string, std::pair<const json*, const json*>> pairs;
  const auto key = [](const json& record) {
    return record.at("submission").at("id").get<std::string>() + " " +
           record.at("case").at("id").get<std::string>();
  };
  for (const json& record : before) pairs[key(record)].first = &record;
  for (const json& record : after) pairs[key(record)].second = &record;
  std::vector<std::vector<std::string>> rows{{"submission and case", "what", "first run", "second run"}};
  for (const auto& [id, pair] : pairs) {
    const auto verdict = [](const json* record) {
      return record == nullptr ? std::string("not there")
                               : record->at("outcome").at("verdict").get<std::string>();
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
