#include "score/calibrate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"

namespace warpgrade {
namespace {

constexpr double kGrain = 0.05;  // of a threshold; 0 would let anything pass

}  // namespace

std::string propose_thresholds(const nlohmann::json& run, const std::vector<nlohmann::json>& records,
                               const std::string& baseline, double share) {
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
    const auto ratios = record.find("ratios");
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
        "the run {} has no step of the ladder timed beside the baseline {} (timed: {}); grade the lab's "
        "steps "
        "on a GPU first: warpgrade bench --lab {}",
        run.value("run", "?"), baseline, measured.empty() ? "nothing" : measured, run.value("lab", "LAB"));
  }
  std::string text = fmt::format(
      "# Proposed by `warpgrade calibrate`: {:.0f} % of the best ladder step's speed-up over {},\n"
      "# rounded down to 0.05, on {} (run {}).\nthresholds:\n",
      100 * share, baseline, run.at("device").value("name", "an unknown device"), run.value("run", "?"));
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

}  // namespace warpgrade
