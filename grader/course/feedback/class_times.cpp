#include "course/feedback/class_times.h"

#include <fmt/format.h>

#include <algorithm>

#include "judge/measure/interval.h"

namespace warpgrade {
using nlohmann::json;

namespace {

constexpr std::size_t kLeastTimes = 5;
// More are not told apart in a picture, and each student's page would grow with the class.
constexpr std::size_t kMostTimes = 101;

double four_digits(double value) {
  return std::stod(fmt::format("{:.4g}", value));
}

json at_even_places(const std::vector<double>& sorted) {
  if (sorted.size() <= kMostTimes) return sorted;
  json chosen = json::array();
  for (std::size_t i = 0; i < kMostTimes; ++i)
    chosen.push_back(sorted[i * (sorted.size() - 1) / (kMostTimes - 1)]);
  return chosen;
}

}  // namespace

void ClassTimes::add(const std::string& case_id, double time_us, std::optional<double> baseline_ratio) {
  times_[case_id].push_back(four_digits(time_us));
  if (baseline_ratio) baselines_[case_id].push_back(time_us * *baseline_ratio);
}

void ClassTimes::sort() {
  for (auto& [id, times] : times_) {
    std::ranges::sort(times);
    medians_[id] = median(times);
  }
  for (const auto& [id, times] : baselines_) baseline_medians_[id] = four_digits(median(times));
}

json ClassTimes::of(const std::string& case_id, std::optional<double> own_us) const {
  const auto found = times_.find(case_id);
  if (found == times_.end() || found->second.size() < kLeastTimes) return nullptr;
  const std::vector<double>& times = found->second;
  json told{{"count", times.size()}, {"us", at_even_places(times)}, {"median_us", medians_.at(case_id)}};
  if (own_us) told["place"] = std::ranges::lower_bound(times, four_digits(*own_us)) - times.begin() + 1;
  if (const auto base = baseline_medians_.find(case_id); base != baseline_medians_.end())
    told["baseline_us"] = base->second;
  return told;
}

}  // namespace warpgrade
