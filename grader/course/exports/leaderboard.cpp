#include <algorithm>
#include <cmath>
#include <map>

#include "course/exports/exports.h"
#include "record/verdict.h"

namespace warpgrade {
using nlohmann::json;

namespace {

// Over all cases that have a threshold: the geometric mean of the speed-ups with its 95 % interval. Errors
// of different cases are taken as independent, so the mean's is the root of the sum of their squares,
// divided by their number. Nothing unless every one of them is correct and measured: means over different
// cases do not compare.
json speed_of(const View& view) {
  double logarithms = 0, below = 0, above = 0;
  int count = 0;
  for (const ScoredCase& line : view.cases) {
    if (!line.threshold || line.left_out) continue;
    if (!line.accepted() || !line.ratio || line.ratio->median <= 0) return nullptr;
    const auto& [median, low, high] = *line.ratio;
    logarithms += std::log(median);
    below += std::pow(std::log(median / std::max(low.value_or(median), 1e-9)), 2);
    above += std::pow(std::log(std::max(high.value_or(median), median) / median), 2);
    ++count;
  }
  if (count == 0) return nullptr;
  const double mean = logarithms / count;
  return {{"median", std::exp(mean)},
          {"low", std::exp(mean - std::sqrt(below) / count)},
          {"high", std::exp(mean + std::sqrt(above) / count)}};
}

// Points as everybody reads them: what looks the same is the same.
double shown_points(const json& row) {
  return std::round(100 * row.at("points").get<double>());
}

double median_of(const json& row) {
  return row.at("speed").is_null() ? -1 : row.at("speed").at("median").get<double>();
}

bool is_before(const json& a, const json& b) {
  if (shown_points(a) != shown_points(b)) return shown_points(a) > shown_points(b);
  if (median_of(a) != median_of(b)) return median_of(a) > median_of(b);
  return a.at("name").get<std::string>() < b.at("name").get<std::string>();
}

// Whether the measurement tells the first, who stands higher, from the second.
bool differ(const json& first, const json& second) {
  if (shown_points(first) != shown_points(second)) return true;
  if (first.at("speed").is_null() || second.at("speed").is_null())
    return first.at("speed").is_null() != second.at("speed").is_null();
  return second.at("speed").at("high") < first.at("speed").at("low");
}

// By points, then by speed. A rank is shared by all who cannot be told from the one that it begins with.
void rank(std::vector<json>& rows) {
  std::sort(rows.begin(), rows.end(), is_before);
  std::size_t first = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (differ(rows[first], rows[i])) first = i;
    rows[i]["rank"] = first + 1;
  }
  for (json& row : rows) {
    const auto same = [&](const json& other) { return other.at("rank") == row.at("rank"); };
    if (std::count_if(rows.begin(), rows.end(), same) > 1) row["shared"] = true;
  }
}

// Geometric mean of the shares of the limit over the correct cases that have one.
json share_of(const View& view) {
  double logarithms = 0;
  int count = 0;
  for (const ScoredCase& line : view.cases) {
    if (!line.accepted() || line.limit.share.value_or(0) <= 0) continue;
    logarithms += std::log(*line.limit.share);
    ++count;
  }
  return count == 0 ? json() : json(std::exp(logarithms / count));
}

json or_null(const std::optional<double>& number) {
  return number ? json(*number) : json();
}

// Each case with a speed-up that may be shown: who has which, most first.
json lists_of_cases(const Views& views) {
  std::vector<std::string> order;
  std::map<std::string, std::map<std::string, json>> by_case;  // then by name: a team's members share a line
  for (const View view : views) {
    if (view.pseudonym.empty()) continue;
    for (const ScoredCase& line : view.cases) {
      if (!line.accepted() || !line.ratio || line.id.empty()) continue;
      if (!by_case.contains(line.id)) order.push_back(line.id);
      by_case[line.id][view.pseudonym] = {
          {"median", line.ratio->median},         {"low", or_null(line.ratio->low)},
          {"high", or_null(line.ratio->high)},    {"name", view.pseudonym},
          {"language", view.submission.language}, {"share", or_null(line.limit.share)}};
    }
  }
  json lists = json::array();
  for (const std::string& id : order) {
    std::vector<json> rows;
    for (auto& [name, row] : by_case[id]) rows.push_back(std::move(row));
    std::stable_sort(rows.begin(), rows.end(),
                     [](const json& a, const json& b) { return a["median"] > b["median"]; });
    lists.push_back({{"id", id}, {"rows", std::move(rows)}});
  }
  return lists;
}

json row_of(const View& view) {
  return {{"name", view.pseudonym},        {"points", view.earned()},
          {"max_points", view.max_points}, {"correct", view.correct_cases},
          {"total", view.total_cases},     {"speed", speed_of(view)},
          {"share", share_of(view)},       {"language", view.submission.language},
          {"speedups", json::array()}};
}

}  // namespace

bool stands_above(const View& view, const View& other) {
  const json first = row_of(view), second = row_of(other);
  if (shown_points(first) != shown_points(second)) return shown_points(first) > shown_points(second);
  return median_of(first) > median_of(second);
}

json leaderboard(const Views& views, const Policy::Board& board, std::int64_t now) {
  const std::vector<int> ks = speed_widths(views);
  std::map<std::string, json> by_name;  // a team's members share one line
  std::string baseline;
  for (const View view : views) {
    for (const ScoredCase& line : view.cases)
      if (line.threshold && !line.baseline.empty()) baseline = line.baseline;
    if (view.pseudonym.empty()) continue;
    json row = row_of(view);
    for (const int k : ks) row["speedups"].push_back(or_null(mean_speedup(view, k)));
    by_name[view.pseudonym] = std::move(row);
  }
  const View any = views.front();
  json titles = json::array();
  for (const int k : ks) titles.push_back(speedup_title(any, k));
  std::vector<json> rows;
  for (auto& [name, row] : by_name) rows.push_back(std::move(row));
  rank(rows);
  json list = {{"schema", "warpgrade.leaderboard.v1"},
               {"run", any.run},
               {"lab", any.lab},
               {"titles", titles},
               {"baseline", baseline},
               {"rows", rows}};
  if (board.cases) list["cases"] = lists_of_cases(views);
  if (board.attempt != "counts") list["attempt"] = board.attempt;
  if (board.renew_s > 0) list["renew_s"] = board.renew_s;
  if (board.is_frozen(now))
    list["frozen"] = {{"from", board.frozen_from_text}, {"until", board.frozen_until_text}};
  return list;
}

}  // namespace warpgrade
