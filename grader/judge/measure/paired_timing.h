// Paired timing of a submission against baselines on one device: the pairs' samples, when to stop, and what
// they say. The judge's labs do the running; this file is arithmetic and can be tested without a GPU.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "judge/measure/interval.h"

namespace warpgrade {

// One repetition of everything, interleaved. A slow baseline may be missing from a pair. Each time is
// measured by the same class (judge/executor/driver/timing_gate.h): in the executor for the submission, in
// its own process for a baseline of ours.
struct PairSample {
  double submission_us = 0;        // by the device's clock: the time that counts
  double submission_event_us = 0;  // between events beside it
  double submission_clock_us =
      0;  // by the executor's host clock, from opening the gate until the device was idle
  double submission_host_us = 0;  // of host code while the gate was closed
  std::uint64_t launches = 0;     // of the submission's kernels; 0: not known
  bool waited = false;            // host code waited for the device: its way is in the time from there
  std::map<std::string, double> baseline_us;
  std::map<std::string, double> baseline_host_us;  // of a baseline's host code, for those in baseline_us
  // What the host's clock shows beyond the device's, for the first baseline; none when it is not in the pair.
  std::optional<double> baseline_clock_excess_us;
  bool checked_closely = false;  // one of the pairs that the hidden seed chose for a closer check
  bool replanned = false;        // the submission planned anew before it
};

// Looks only after these many pairs; 98.75 % at each look is 95 % over all four (Bonferroni).
inline constexpr int kLooks[] = {31, 63, 127, 255};
inline constexpr double kLookConfidence = 0.9875;
inline constexpr double kOverallConfidence = 0.95;
inline constexpr double kNarrowEnough = 0.01;

// Two processes that run the same program differ by where their memory came to lie: up to about 1 us,
// in an A/A run on an H200, which no number of repetitions in one process averages out. Ratios'
// intervals are widened by that much; then 75 of 78 A/A intervals of 95 % hold 1 (ratio "self" in
// reports/published/h200/spmm/steps/04-05). A launch behind another has 0.17 us more in some processes
// than in others, the same in all repetitions: 96 launches took 797 or 814 us in twelve processes of
// one program (reports/published/h100/benches/fidelity-order.txt). No interval allows for that: how
// often a program launches is its own choice, and launches in a second stream cost it little.
inline constexpr double kPlacementUs = 1.0, kPlacementShare = 0.001;

// What the host's clock shows beyond the device's is the way from the host's word to the start and from the
// end to the host, and an empty run's time: 14.2 and 4.5 us on an H200, whatever the work is, within 0.5 us
// (reports/published/h200/benches, executor.txt). A submission's may differ from the baseline's by so much;
// what goes beyond counts, and beyond the tolerance the device's clock was not told the truth.
inline constexpr double kClockResolutionUs = 1.0, kClockResolutionShare = 0.005;
inline constexpr double kClockToleranceUs = 5.0, kClockToleranceShare = 0.03;

class PairedTiming {
 public:
  explicit PairedTiming(std::string main_baseline) : main_baseline_(std::move(main_baseline)) {}

  void add(PairSample sample) { samples_.push_back(std::move(sample)); }
  int pairs() const { return static_cast<int>(samples_.size()); }

  // At a look: whether the main ratio's interval is narrow enough. False between looks.
  bool narrow_enough();

  Interval submission_us() const;
  // Baseline / submission, pair by pair: of the device's times, or of these and the host code's together.
  enum class Counted { kDevice, kDeviceAndHost };
  std::optional<Interval> ratio(const std::string& baseline, Counted counted = Counted::kDevice) const;

  // The time that counts, and which clock it comes from: what the host's clock shows beyond the device's, and
  // beyond the baseline's own difference (the low end of that excess's interval), is added to it.
  struct Graded {
    double median_us = 0;
    bool bound_by_host = false;
    bool rejected = false;  // further apart than the tolerance
    double device_median_us = 0, event_median_us = 0, clock_median_us = 0, host_median_us = 0,
           excess_low_us = 0;
  };
  Graded graded() const;

  // The record's `timing`, `ratios` and `ratios_with_host`.
  nlohmann::json timing_json(const std::string& stopped_by) const;
  nlohmann::json ratios_json(Counted counted = Counted::kDevice) const;

 private:
  std::string main_baseline_;
  std::vector<PairSample> samples_;
  std::vector<int> looks_;
};

}  // namespace warpgrade
