#include "course/score/calibrate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "course/score/gpu_model.h"

namespace warpgrade {
namespace {

constexpr double kGrain = 0.05;  // of a threshold; 0 would let anything pass

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::size_t indent_of(const std::string& line) {
  const std::size_t at = line.find_first_not_of(' ');
  return at == std::string::npos || line[at] == '#' ? std::string::npos : at;
}

// The block that begins with the line `key:` at this indentation, from `from` on: its first line and the one
// behind its last, without the comments and empty lines that follow it. Both `until` where there is none.
std::pair<std::size_t, std::size_t> block_of(const Lines& lines, const std::string& key, std::size_t indent,
                                             std::size_t from, std::size_t until) {
  const auto named = [&](const std::string& line) {
    if (indent_of(line) != indent) return false;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) return false;
    std::string name = line.substr(indent, colon - indent);
    std::erase_if(name, [](char letter) { return letter == '"' || letter == '\'' || letter == ' '; });
    std::string wanted = key;
    std::erase(wanted, ' ');
    return name == wanted;
  };
  std::size_t first = from;
  while (first < until && !named(lines[first])) ++first;
  if (first == until) return {until, until};
  std::size_t end = first + 1;
  for (std::size_t i = end; i < until; ++i) {
    const std::size_t here = indent_of(lines[i]);
    if (here == std::string::npos) continue;
    if (here <= indent) break;
    end = i + 1;
  }
  return {first, end};
}

// The two lines of comment that propose_thresholds begins with.
bool written_by_us(const Lines& lines, std::size_t at) {
  const auto begins = [&](std::size_t i) {
    return i < lines.size() && lines[i].find("# Proposed by `warpgrade calibrate`") != std::string::npos;
  };
  return begins(at) || (at > 0 && begins(at - 1));
}

}  // namespace

std::string propose_thresholds(const nlohmann::json& run, const std::vector<nlohmann::json>& records,
                               const std::string& baseline, const std::string& ratios_key, double share) {
  struct Best {
    double ratio = 0;
    std::string step;
  };
  std::set<std::string> others;  // baselines that were measured
  std::vector<std::string> order;
  std::map<std::string, std::map<int, std::map<std::string, Best>>> best;  // by dataset, width, case
  for (const nlohmann::json& record : records) {
    const std::string id = record.at("submission").at("id");
    if (!id.starts_with("step-") || record.at("outcome").at("verdict") != "accepted") continue;
    const auto ratios = record.find(ratios_key);
    if (ratios == record.end()) continue;
    for (const auto& [name, ratio] : ratios->items()) others.insert(name);
    if (!ratios->contains(baseline)) continue;
    const nlohmann::json& spec = record.at("case");
    const std::string dataset = spec.at("dataset");
    if (!best.contains(dataset)) order.push_back(dataset);
    Best& entry = best[dataset][spec.at("k")][spec.at("id")];
    const double ratio = ratios->at(baseline).at("median");
    if (ratio > entry.ratio) entry = {ratio, id};
  }
  if (best.empty()) {
    std::string measured;
    for (const std::string& name : others) measured += (measured.empty() ? "" : ", ") + name;
    throw UsageError(
        "the run {} has no step of the ladder timed beside the baseline {} (timed: {}; read: the records' "
        "{}); "
        "grade the lab's steps on a GPU first: warpgrade bench --lab {}",
        run.value("run", "?"), baseline, measured.empty() ? "nothing" : measured, ratios_key,
        run.value("lab", "LAB"));
  }
  std::string text = fmt::format(
      "# Proposed by `warpgrade calibrate`: {:.0f} % of the best ladder step's speed-up over {},\n"
      "# rounded down to 0.05, {}on {} (run {}).\nthresholds:\n",
      100 * share, baseline, ratios_key == "ratios" ? "" : "host time included, ",
      run.at("device").value("name", "an unknown device"), run.value("run", "?"));
  const auto threshold = [&](const Best& entry) {
    return std::max(kGrain, std::floor(entry.ratio * share / kGrain) * kGrain);
  };
  for (const std::string& dataset : order) {
    std::string entries, steps, lines;
    for (const auto& [k, cases] : best[dataset]) {
      if (cases.size() > 1) {  // of one dataset and width: each has a threshold of its own
        for (const auto& [id, entry] : cases)
          lines += fmt::format("  {}: {:.2f}  # {} {:.2f}\n", id, threshold(entry), entry.step, entry.ratio);
        continue;
      }
      const Best& entry = cases.begin()->second;
      entries += fmt::format("{}{}: {:.2f}", entries.empty() ? "" : ", ", k, threshold(entry));
      steps += fmt::format("{}{} {:.2f}", steps.empty() ? "" : ", ", entry.step, entry.ratio);
    }
    if (!entries.empty()) text += fmt::format("  {}: {{{}}}  # {}\n", dataset, entries, steps);
    text += lines;
  }
  return text;
}

std::string with_thresholds(const std::string& policy, const std::string& model,
                            const std::string& proposed) {
  Lines lines = lines_of(policy);
  Lines fresh = lines_of(proposed);  // comments, `thresholds:`, its entries
  const auto [on, after_on] = block_of(lines, "measured_on", 0, 0, lines.size());
  const bool is_main =
      on < lines.size() && gpu_words(lines[on].substr(lines[on].find(':'))) == gpu_words(model);
  std::size_t first = lines.size(), end = lines.size();
  if (is_main) {
    std::tie(first, end) = block_of(lines, "thresholds", 0, 0, lines.size());
  } else {
    for (std::string& line : fresh) line = line == "thresholds:" ? fmt::format("  {}:", model) : "  " + line;
    const auto [group, group_end] = block_of(lines, "thresholds_by_gpu", 0, 0, lines.size());
    if (group == lines.size()) {
      fresh.insert(fresh.begin(), "thresholds_by_gpu:");
    } else {
      std::tie(first, end) = block_of(lines, model, 2, group + 1, group_end);
    }
  }
  // What an earlier calibration said of itself goes with it.
  while (first < end && first > 0 && lines[first - 1].find_first_not_of(' ') != std::string::npos &&
         lines[first - 1][lines[first - 1].find_first_not_of(' ')] == '#' && written_by_us(lines, first - 1))
    --first;
  lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(first),
              lines.begin() + static_cast<std::ptrdiff_t>(end));
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(first), fresh.begin(), fresh.end());
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace warpgrade
