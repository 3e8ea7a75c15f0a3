#include "judge/measure/paired_timing.h"

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
  return (says_enough ? *interval : submission_us()).relative_width() < kNarrowEnough;
}

Interval PairedTiming::submission_us() const {
  std::vector<double> values;
  for (const PairSample& sample : samples_) values.push_back(sample.submission_us);
  return median_interval(std::move(values), kLookConfidence);
}

std::optional<Interval> PairedTiming::ratio(const std::string& baseline, Counted counted) const {
  const bool with_host = counted == Counted::kDeviceAndHost;
  std::vector<double> ratios;
  for (const PairSample& sample : samples_) {
    const auto found = sample.baseline_us.find(baseline);
    if (found == sample.baseline_us.end()) continue;
    const auto host = sample.baseline_host_us.find(baseline);
    if (with_host && host == sample.baseline_host_us.end()) continue;
    const double own = sample.submission_us + (with_host ? sample.submission_host_us : 0);
    if (own > 0) ratios.push_back((found->second + (with_host ? host->second : 0)) / own);
  }
  if (ratios.empty()) return std::nullopt;
  return median_interval(std::move(ratios), kLookConfidence);
}

PairedTiming::Graded PairedTiming::graded() const {
  std::vector<double> device, events, clocks, hosts, excesses;
  for (const PairSample& sample : samples_) {
    device.push_back(sample.submission_us);
    events.push_back(sample.submission_event_us);
    clocks.push_back(sample.submission_clock_us);
    hosts.push_back(sample.submission_host_us);
    if (sample.baseline_clock_excess_us)
      excesses.push_back(sample.submission_clock_us - sample.submission_us -
                         *sample.baseline_clock_excess_us);
  }
  Graded graded;
  graded.device_median_us = median(device);
  graded.event_median_us = median(events);
  graded.clock_median_us = median(clocks);
  graded.host_median_us = median(hosts);
  if (!excesses.empty()) graded.excess_low_us = median_interval(excesses, kLookConfidence).low;
  const auto beyond = [&](double us, double share) {
    return graded.excess_low_us > us + share * graded.device_median_us;
  };
  graded.bound_by_host = beyond(kClockResolutionUs, kClockResolutionShare);
  graded.median_us = graded.device_median_us + (graded.bound_by_host ? graded.excess_low_us : 0);
  graded.rejected = beyond(kClockToleranceUs, kClockToleranceShare);
  return graded;
}

nlohmann::json PairedTiming::timing_json(const std::string& stopped_by) const {
  const Graded time = graded();
  const Interval interval = submission_us();
  const double scale = time.device_median_us > 0 ? time.median_us / time.device_median_us : 1;
  nlohmann::json series{{"baseline_us", nlohmann::json::object()}};
  int waited = 0;
  std::uint64_t launches = 0;
  for (const PairSample& sample : samples_) {
    series["submission_us"].push_back(sample.submission_us);
    series["submission_event_us"].push_back(sample.submission_event_us);
    series["submission_clock_us"].push_back(sample.submission_clock_us);
    series["submission_host_us"].push_back(sample.submission_host_us);
    series["checked_closely"].push_back(sample.checked_closely ? 1 : 0);
    series["replanned"].push_back(sample.replanned ? 1 : 0);
    launches = std::max(launches, sample.launches);
    for (const auto& [name, value] : sample.baseline_us) series["baseline_us"][name].push_back(value);
    for (const auto& [name, value] : sample.baseline_host_us)
      series["baseline_host_us"][name].push_back(value);
    waited += sample.waited ? 1 : 0;
  }
  return {{"median_us", time.median_us},
          {"low_us", interval.low * scale},
          {"high_us", interval.high * scale},
          {"confidence", std::min(kOverallConfidence, interval.confidence)},
          {"bound_by", time.bound_by_host ? "host" : "device"},
          {"device_median_us", time.device_median_us},
          {"event_median_us", time.event_median_us},
          {"clock_median_us", time.clock_median_us},
          {"clock_excess_low_us", time.excess_low_us},
          {"host_us", time.host_median_us},
          {"launches", launches},
          {"synchronizes", 2 * waited > pairs()},
          {"pairs", pairs()},
          {"looks", looks_.size()},
          {"stopped_by", stopped_by},
          {"samples", std::move(series)}};
}

nlohmann::json PairedTiming::ratios_json(Counted counted) const {
  const Graded time = graded();
  // A submission of which the host's clock shows more than the device's pays for it in every ratio.
  const double scale = time.median_us > 0 ? time.device_median_us / time.median_us : 1;
  const double placement =
      time.device_median_us > 0 ? kPlacementUs / time.device_median_us + kPlacementShare : 0;
  std::set<std::string> names;
  for (const PairSample& sample : samples_) {
    for (const auto& [name, value] : sample.baseline_us) names.insert(name);
  }
  nlohmann::json ratios = nlohmann::json::object();
  for (const std::string& name : names) {
    const auto found = ratio(name, counted);
    if (!found) continue;
    const Interval& interval = *found;
    const auto count = std::count_if(samples_.begin(), samples_.end(),
                                     [&](const PairSample& s) { return s.baseline_us.contains(name); });
    ratios[name] = {{"median", interval.median * scale},
                    {"low", interval.low * scale * (1 - placement)},
                    {"high", interval.high * scale * (1 + placement)},
                    {"confidence", std::min(kOverallConfidence, interval.confidence)},
                    {"pairs", count}};
  }
  return ratios;
}

}  // namespace warpgrade
