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
json speed_of(const json& view) {
  double logarithms = 0, below = 0, above = 0;
  int count = 0;
  for (const json& line : view.at("cases")) {
    if (!line.contains("threshold") || line.value("left_out", false)) continue;
    const json ratio = line.value("ratio", json::object());
    const double median = ratio.value("median", 0.0);
    if (line.at("verdict") != Verdict::kAccepted || median <= 0) return nullptr;
    const double low = ratio.value("low", median), high = ratio.value("high", median);
    logarithms += std::log(median);
    below += std::pow(std::log(median / std::max(low, 1e-9)), 2);
    above += std::pow(std::log(std::max(high, median) / median), 2);
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

std::string language_of(const json& view) {
  return view.value("submission", json::object()).value("interface", "").ends_with(".py") ? "Python" : "CUDA";
}

// Geometric mean of the shares of the limit over the correct cases that have one.
json share_of(const json& view) {
  double logarithms = 0;
  int count = 0;
  for (const json& line : view.at("cases")) {
    const double share = line.value("limit", json::object()).value("share", 0.0);
    if (line.at("verdict") != Verdict::kAccepted || share <= 0) continue;
    logarithms += std::log(share);
    ++count;
  }
  return count == 0 ? json() : json(std::exp(logarithms / count));
}

// Each case with a speed-up that may be shown: who has which, most first.
json lists_of_cases(const Views& views) {
  std::vector<std::string> order;
  std::map<std::string, std::map<std::string, json>> by_case;  // then by name: a team's members share a line
  for (const json& view : views) {
    if (!view.contains("pseudonym")) continue;
    for (const json& line : view.at("cases")) {
      if (line.at("verdict") != Verdict::kAccepted || !line.contains("ratio") || !line.contains("id"))
        continue;
      const std::string id = line.at("id"), name = view.at("pseudonym");
      if (!by_case.contains(id)) order.push_back(id);
      json row = line.at("ratio");
      row.update({{"name", name}, {"language", language_of(view)}});
      row["share"] = line.value("limit", json::object()).value("share", json());
      by_case[id][name] = std::move(row);
    }
  }
  json lists = json::array();
  for (const std::string& id : order) {
    std::vector<json> rows;
    for (auto& [name, row] : by_case[id]) rows.push_back(std::move(row));
    std::stable_sort(rows.begin(), rows.end(), [](const json& a, const json& b) {
      return a.value("median", 0.0) > b.value("median", 0.0);
    });
    lists.push_back({{"id", id}, {"rows", std::move(rows)}});
  }
  return lists;
}

json row_of(const json& view) {
  return {{"name", view.value("pseudonym", "")},
          {"points", view.value("computed_points", view.at("points").get<double>())},
          {"max_points", view.at("max_points")},
          {"correct", view.value("correct_cases", 0)},
          {"total", view.value("total_cases", 0)},
          {"speed", speed_of(view)},
          {"share", share_of(view)},
          {"language", language_of(view)},
          {"speedups", json::array()}};
}

}  // namespace

bool stands_above(const json& view, const json& other) {
  const json first = row_of(view), second = row_of(other);
  if (shown_points(first) != shown_points(second)) return shown_points(first) > shown_points(second);
  return median_of(first) > median_of(second);
}

json leaderboard(const Views& views, const Policy::Board& board, std::int64_t now) {
  const std::vector<int> ks = speed_widths(views);
  std::map<std::string, json> by_name;  // a team's members share one line
  for (const json& view : views) {
    if (!view.contains("pseudonym")) continue;
    json row = row_of(view);
    for (const int k : ks) {
      const auto mean = mean_speedup(view, k);
      row["speedups"].push_back(mean ? json(*mean) : json());
    }
    by_name[view.at("pseudonym")] = std::move(row);
  }
  json titles = json::array();
  for (const int k : ks) titles.push_back(speedup_title(views.front(), k));
  std::vector<json> rows;
  for (auto& [name, row] : by_name) rows.push_back(std::move(row));
  rank(rows);
  const json& any = views.front();
  std::string baseline;
  for (const json& view : views)
    for (const json& line : view.at("cases"))
      if (line.contains("threshold")) baseline = line.value("baseline", baseline);
  json list = {{"schema", "warpgrade.leaderboard.v1"},
               {"run", any.at("run")},
               {"lab", any.at("lab")},
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
