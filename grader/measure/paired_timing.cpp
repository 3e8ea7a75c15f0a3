#include "measure/paired_timing.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace warpgrade {

bool PairedTiming::narrow_enough() {
  if (std::find(std::begin(kLooks), std::end(kLooks), pairs()) == std::end(kLooks)) return false;
  looks_.push_back(pairs());
  const auto interval = ratio(main_baseline_);
  // A baseline that was left out of most pairs says little: the submission's own times then decide.
  const bool says_enough = interval && interval->confidence >= kLookConfidence;
  return (says_enough ? *interval : event_us()).relative_width() < kNarrowEnough;
}

Interval PairedTiming::event_us() const {
  std::vector<double> values;
  for (const PairSample& sample : samples_) values.push_back(sample.submission_event_us);
  return median_interval(std::move(values), kLookConfidence);
}

std::optional<Interval> PairedTiming::ratio(const std::string& baseline) const {
  std::vector<double> ratios;
  for (const PairSample& sample : samples_) {
    const auto found = sample.baseline_event_us.find(baseline);
    if (found != sample.baseline_event_us.end() && sample.submission_event_us > 0) {
      ratios.push_back(found->second / sample.submission_event_us);
    }
  }
  if (ratios.empty()) return std::nullopt;
  return median_interval(std::move(ratios), kLookConfidence);
}

PairedTiming::Graded PairedTiming::graded() const {
  std::vector<double> events, walls, nulls, excesses, enter_excesses;
  for (const PairSample& sample : samples_) {
    events.push_back(sample.submission_event_us);
    walls.push_back(sample.submission_wall_us);
    nulls.push_back(sample.null_wall_us);
    excesses.push_back(sample.submission_wall_us - sample.null_wall_us);
    enter_excesses.push_back(sample.submission_enter_us - sample.null_enter_us);
  }
  Graded graded;
  graded.event_median_us = median(events);
  graded.wall_median_us = median(walls);
  graded.null_wall_median_us = median(nulls);
  graded.excess_low_us = median_interval(excesses, kLookConfidence).low;
  graded.bound_by_wall =
      graded.excess_low_us > kWallResolutionUs + kWallResolutionShare * graded.event_median_us;
  graded.median_us = graded.event_median_us + (graded.bound_by_wall ? graded.excess_low_us : 0);
  graded.enter_excess_low_us = median_interval(enter_excesses, kLookConfidence).low;
  graded.device_busy =
      graded.enter_excess_low_us > kEnterToleranceUs + kEnterToleranceShare * graded.event_median_us;
  graded.rejected = graded.excess_low_us > kWallToleranceUs + kWallToleranceShare * graded.median_us;
  return graded;
}

nlohmann::json PairedTiming::timing_json(const std::string& stopped_by) const {
  const Graded time = graded();
  const Interval interval = event_us();
  const double scale = time.event_median_us > 0 ? time.median_us / time.event_median_us : 1;
  nlohmann::json series{
      {"submission_event_us", nlohmann::json::array()}, {"submission_wall_us", nlohmann::json::array()},
      {"null_wall_us", nlohmann::json::array()},        {"submission_enter_us", nlohmann::json::array()},
      {"null_enter_us", nlohmann::json::array()},       {"baseline_event_us", nlohmann::json::object()},
      {"checked_closely", nlohmann::json::array()},     {"replanned", nlohmann::json::array()}};
  for (const PairSample& sample : samples_) {
    series["submission_event_us"].push_back(sample.submission_event_us);
    series["submission_wall_us"].push_back(sample.submission_wall_us);
    series["null_wall_us"].push_back(sample.null_wall_us);
    series["submission_enter_us"].push_back(sample.submission_enter_us);
    series["null_enter_us"].push_back(sample.null_enter_us);
    series["checked_closely"].push_back(sample.checked_closely ? 1 : 0);
    series["replanned"].push_back(sample.replanned ? 1 : 0);
    for (const auto& [name, value] : sample.baseline_event_us)
      series["baseline_event_us"][name].push_back(value);
  }
  return {{"median_us", time.median_us},
          {"low_us", interval.low * scale},
          {"high_us", interval.high * scale},
          {"confidence", std::min(kOverallConfidence, interval.confidence)},
          {"bound_by", time.bound_by_wall ? "wall" : "event"},
          {"event_median_us", time.event_median_us},
          {"wall_median_us", time.wall_median_us},
          {"null_wall_median_us", time.null_wall_median_us},
          {"wall_excess_low_us", time.excess_low_us},
          {"enter_excess_low_us", time.enter_excess_low_us},
          {"pairs", pairs()},
          {"looks", looks_.size()},
          {"stopped_by", stopped_by},
          {"samples", std::move(series)}};
}

nlohmann::json PairedTiming::ratios_json() const {
  const Graded time = graded();
  // A submission whose wall clock shows more than its events pays for it in every ratio.
  const double scale = time.median_us > 0 ? time.event_median_us / time.median_us : 1;
  const double placement =
      time.event_median_us > 0 ? kPlacementUs / time.event_median_us + kPlacementShare : 0;
  std::set<std::string> names;
  for (const PairSample& sample : samples_) {
    for (const auto& [name, value] : sample.baseline_event_us) names.insert(name);
  }
  nlohmann::json ratios = nlohmann::json::object();
  for (const std::string& name : names) {
    const Interval interval = *ratio(name);
    const auto count = std::count_if(samples_.begin(), samples_.end(),
                                     [&](const PairSample& s) { return s.baseline_event_us.contains(name); });
    ratios[name] = {{"median", interval.median * scale},
                    {"low", interval.low * scale * (1 - placement)},
                    {"high", interval.high * scale * (1 + placement)},
                    {"confidence", std::min(kOverallConfidence, interval.confidence)},
                    {"pairs", count}};
  }
  return ratios;
}

}  // namespace warpgrade
