#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/hash.h"
#include "course/exports/csv.h"
#include "course/exports/exports.h"

namespace warpgrade {
using nlohmann::json;

std::string file_name_of(const std::string& id) {
  std::string name;
  for (const char c : id) {
    const bool safe = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      c == '-' || c == '_' || (c == '.' && !name.empty());
    name += safe ? c : '_';
  }
  return name == id && !id.empty() && id.size() <= 100 ? id
                                                       : name.substr(0, 100) + "-" + sha256(id).substr(0, 8);
}

std::vector<int> speed_widths(const Views& views) {
  constexpr std::size_t kMostWidths = 4;  // more are no groups but points along an axis, as APSP's sizes
  std::set<int> found;
  bool measured = false;
  for (const json& view : views) {
    for (const json& line : view.at("cases")) {
      if (line.value("kind", "") != "speed") continue;
      measured |= line.contains("ratio");
      found.insert(line.value("k", kAllWidths));
    }
  }
  if (!measured) return {};
  if (found.size() > kMostWidths || found.contains(kAllWidths)) return {kAllWidths};
  return {found.begin(), found.end()};
}

std::string speedup_title(const json& view, int k) {
  const std::string width = view.value("terms", json::object()).value("width", "");
  return k == kAllWidths || width.empty() ? "Speed-up" : fmt::format("Speed-up {}={}", width, k);
}

std::optional<double> mean_speedup(const json& view, int k) {
  double logarithms = 0;
  int count = 0;
  for (const json& line : view.at("cases")) {
    if ((k != kAllWidths && line.value("k", kAllWidths) != k) || line.at("verdict") != "accepted" ||
        !line.contains("ratio"))
      continue;
    const double ratio = line.at("ratio").value("median", 0.0);
    if (ratio <= 0) continue;
    logarithms += std::log(ratio);
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional<double>(std::exp(logarithms / count));
}

std::string case_text(const json& line) {
  std::string text = line.at("verdict").get<std::string>();
  if (line.contains("message")) text += ": " + line.at("message").get<std::string>();
  if (line.contains("pattern")) text += "\n" + line.at("pattern").get<std::string>();
  for (const json& finding : line.value("diagnostics", json::array())) {
    text += fmt::format("\n{}:{} {}", finding.value("file", ""), finding.value("line", 0),
                        finding.value("message", ""));
    if (finding.contains("advice")) text += "\n  advice: " + finding.at("advice").get<std::string>();
  }
  if (line.contains("ratio")) {
    const json& ratio = line.at("ratio");
    text += fmt::format("\nspeed-up {:.3g}", ratio.value("median", 0.0));
    if (ratio.contains("low") && ratio.contains("high")) {
      text += fmt::format(" [{:.3g}, {:.3g}]", ratio.at("low").get<double>(), ratio.at("high").get<double>());
    }
    text += " over " + line.value("baseline", "the baseline");
  }
  if (line.contains("threshold")) {
    std::string status = line.value("threshold_status", "");
    for (char& c : status) c = c == '_' ? ' ' : c;
    text += fmt::format("\nthreshold {:.3g}: {}", line.at("threshold").get<double>(), status);
  }
  if (line.contains("next_step")) text += "\nnext: " + line.at("next_step").get<std::string>();
  return text;
}

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
    if (line.at("verdict") != "accepted" || median <= 0) return nullptr;
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

}  // namespace

json leaderboard(const Views& views) {
  const std::vector<int> ks = speed_widths(views);
  std::map<std::string, json> by_name;  // a team's members share one line
  for (const json& view : views) {
    if (!view.contains("pseudonym")) continue;
    json row = {{"name", view.at("pseudonym")},
                {"points", view.value("computed_points", view.at("points").get<double>())},
                {"max_points", view.at("max_points")},
                {"correct", view.value("correct_cases", 0)},
                {"total", view.value("total_cases", 0)},
                {"speed", speed_of(view)},
                {"speedups", json::array()}};
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
  return {{"schema", "warpgrade.leaderboard.v1"},
          {"run", any.at("run")},
          {"lab", any.at("lab")},
          {"titles", titles},
          {"baseline", baseline},
          {"rows", rows}};
}

}  // namespace warpgrade
