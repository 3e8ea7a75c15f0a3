#include "judge/measure/paired_timing.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

namespace warpgrade {
namespace {

// A median of n values from a normal distribution has this times the deviation of their mean.
constexpr double kMedianOverMean = 1.2533;

}  // namespace

// Only what a process does within itself is looked at, never the ratio or its interval: stopping at a look
// that pleases would make intervals too narrow.
bool PairedTiming::steady_enough() const {
  if (std::find(std::begin(kLooks), std::end(kLooks), pairs()) == std::end(kLooks)) return false;
  std::vector<double> values, times;
  for (const PairSample& sample : samples_) {
    if (sample.submission_us <= 0) continue;
    times.push_back(sample.submission_us);
    const auto baseline = sample.baseline_us.find(main_baseline_);
    if (baseline != sample.baseline_us.end() && baseline->second > 0)
      values.push_back(std::log(baseline->second / sample.submission_us));
  }
  if (times.empty()) return false;
  const double length_us = median(times);
  if (2 * values.size() < times.size()) {  // a slow baseline: the submission's own times then decide
    values.clear();
    for (const double time : times) values.push_back(std::log(time));
  }
  const double n = static_cast<double>(values.size()), processes = process_pairs_;
  const double t = student_t_95(std::max(1, process_pairs_ - 1));
  const double within = t * kMedianOverMean * robust_deviation(values) / std::sqrt(n * processes);
  const double between = t * std::sqrt(2 / processes) * kProcessesDifferUs / length_us;
  return within < std::max(kSteadyEnough, kShareOfProcesses * between);
}

std::vector<double> PairedTiming::submission_medians() const {
  std::map<int, std::vector<double>> by_process;
  for (const PairSample& sample : samples_) by_process[sample.process].push_back(sample.submission_us);
  std::vector<double> medians;
  for (auto& [process, times] : by_process) {
    if (const double middle = median(std::move(times)); middle > 0) medians.push_back(middle);
  }
  return medians;
}

Interval PairedTiming::submission_us() const {
  const std::vector<double> medians = submission_medians();
  return medians.empty() ? Interval{} : geometric_interval(medians);
}

std::vector<PairedTiming::Medians> PairedTiming::medians(const std::string& baseline, Counted counted) const {
  const bool with_host = counted == Counted::kDeviceAndHost;
  std::map<int, std::vector<double>> own, others;
  for (const PairSample& sample : samples_) {
    own[sample.process].push_back(sample.submission_us + (with_host ? sample.submission_host_us : 0));
    const auto found = sample.baseline_us.find(baseline);
    if (found == sample.baseline_us.end()) continue;
    const auto host = sample.baseline_host_us.find(baseline);
    if (with_host && host == sample.baseline_host_us.end()) continue;
    others[sample.process].push_back(found->second + (with_host ? host->second : 0));
  }
  std::vector<Medians> all;
  for (const auto& [process, times] : others) {
    const Medians both{median(own.at(process)), median(times)};
    if (both.submission_us > 0 && both.baseline_us > 0) all.push_back(both);
  }
  return all;
}

std::optional<Interval> PairedTiming::ratio(const std::string& baseline, Counted counted) const {
  std::vector<double> ratios;
  for (const Medians& both : medians(baseline, counted))
    ratios.push_back(both.baseline_us / both.submission_us);
  if (ratios.empty()) return std::nullopt;
  return geometric_interval(ratios);
}

double PairedTiming::honest_noise(const std::string& baseline, Counted counted) const {
  std::vector<double> own, others;
  for (const Medians& both : medians(baseline, counted)) {
    own.push_back(std::log(both.submission_us));
    others.push_back(std::log(both.baseline_us));
  }
  if (others.size() < 2) return 0;
  const Spread spread = spread_of(others);
  const double length_us = std::exp(spread_of(own).mean), baseline_us = std::exp(spread.mean);
  const double short_us = std::min(spread.deviation * baseline_us, kMostShortSpreadUs);
  const double honest = std::max(spread.deviation, short_us / length_us);
  const int n = static_cast<int>(others.size());
  const double half = student_t_95(n - 1) * std::hypot(honest, spread.deviation) / std::sqrt(n);
  return std::min(half, kMostNoise);
}

PairedTiming::Graded PairedTiming::graded() const {
  std::vector<double> events, clocks, hosts, excesses;
  for (const PairSample& sample : samples_) {
    events.push_back(sample.submission_event_us);
    clocks.push_back(sample.submission_clock_us);
    hosts.push_back(sample.submission_host_us);
    if (sample.baseline_clock_excess_us)
      excesses.push_back(sample.submission_clock_us - sample.submission_us -
                         *sample.baseline_clock_excess_us);
  }
  Graded graded;
  graded.device_median_us = submission_us().middle;
  graded.event_median_us = median(events);
  graded.clock_median_us = median(clocks);
  graded.host_median_us = median(hosts);
  if (!excesses.empty()) graded.excess_low_us = median_interval(excesses, kClockConfidence).low;
  const auto beyond = [&](double us, double share) {
    return graded.excess_low_us > us + share * graded.device_median_us;
  };
  graded.bound_by_host = beyond(kClockResolutionUs, kClockResolutionShare);
  graded.median_us = graded.device_median_us + (graded.bound_by_host ? graded.excess_low_us : 0);
  graded.rejected = beyond(kClockToleranceUs, kClockToleranceShare);
  return graded;
}

Timing PairedTiming::record(const std::string& stopped_by) const {
  const Graded time = graded();
  const Interval interval = submission_us();
  const double scale = time.device_median_us > 0 ? time.median_us / time.device_median_us : 1;
  nlohmann::json series{{"baseline_us", nlohmann::json::object()}};
  int waited = 0;
  std::uint64_t launches = 0;
  std::set<int> processes;
  for (const PairSample& sample : samples_) {
    processes.insert(sample.process);
    series["process"].push_back(sample.process);
    series["submission_us"].push_back(sample.submission_us);
    series["submission_event_us"].push_back(sample.submission_event_us);
    series["submission_clock_us"].push_back(sample.submission_clock_us);
    series["submission_host_us"].push_back(sample.submission_host_us);
    series["checked_closely"].push_back(sample.checked_closely ? 1 : 0);
    series["replanned"].push_back(sample.replanned ? 1 : 0);
    series["inputs"].push_back(sample.inputs);
    launches = std::max(launches, sample.launches);
    for (const auto& [name, value] : sample.baseline_us) series["baseline_us"][name].push_back(value);
    for (const auto& [name, value] : sample.baseline_host_us)
      series["baseline_host_us"][name].push_back(value);
    waited += sample.waited ? 1 : 0;
  }
  Timing timing;
  timing.median_us = time.median_us;
  timing.low_us = interval.low * scale;
  timing.high_us = interval.high * scale;
  timing.confidence = interval.confidence;
  timing.bound_by = time.bound_by_host ? "host" : "device";
  timing.device_median_us = time.device_median_us;
  timing.event_median_us = time.event_median_us;
  timing.clock_median_us = time.clock_median_us;
  timing.clock_excess_low_us = time.excess_low_us;
  timing.host_us = time.host_median_us;
  timing.launches = static_cast<std::int64_t>(launches);
  timing.synchronizes = 2 * waited > pairs();
  timing.pairs = pairs();
  timing.processes = static_cast<std::int64_t>(processes.size());
  timing.stopped_by = stopped_by;
  timing.samples = std::move(series);
  return timing;
}

std::map<std::string, Ratio> PairedTiming::ratios(Counted counted) const {
  const Graded time = graded();
  // A submission of which the host's clock shows more than the device's pays for it in every ratio.
  const double scale = time.median_us > 0 ? time.device_median_us / time.median_us : 1;
  std::set<std::string> names;
  for (const PairSample& sample : samples_) {
    for (const auto& [name, value] : sample.baseline_us) names.insert(name);
  }
  std::map<std::string, Ratio> ratios;
  for (const std::string& name : names) {
    const auto found = ratio(name, counted);
    if (!found) continue;
    const Interval& interval = *found;
    const auto count = std::count_if(samples_.begin(), samples_.end(),
                                     [&](const PairSample& s) { return s.baseline_us.contains(name); });
    Ratio& one = ratios[name];
    one.median = interval.middle * scale;
    one.low = interval.low * scale;
    one.high = interval.high * scale;
    one.confidence = interval.confidence;
    one.noise = honest_noise(name, counted);
    one.processes = static_cast<std::int64_t>(medians(name, counted).size());
    one.pairs = count;
  }
  return ratios;
}

}  // namespace warpgrade
