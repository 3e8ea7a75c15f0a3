// Paired timing of a submission against baselines on one device: the pairs' samples, when to stop, and what
// they say. The judge's labs do the running; this file is arithmetic and can be tested without a GPU.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "measure/interval.h"

namespace warpgrade {

// One repetition of everything, interleaved. A slow baseline may be missing from a pair.
//
// null_wall_us is the wall time of a trusted runner that does nothing but keep the GPU waiting for as long as
// the submission's events said: what the wall clock should have shown if they told the truth. A fixed null
// command would not do: once work outlasts a time slice, changes of context add 150 to 300 us to it (measured
// on an H200).
struct PairSample {
  double submission_event_us = 0, submission_wall_us = 0, null_wall_us = 0;
  // The wall time of the command that brought each one's context in, before its clock started: what a
  // submission computes ahead of its clock makes that longer than the trusted runner's.
  double submission_enter_us = 0, null_enter_us = 0;
  std::map<std::string, double> baseline_event_us;
  bool checked_closely = false;  // one of the pairs that the hidden seed chose for a closer check
  bool replanned = false;        // the submission planned anew before it
};

// Looks only after these many pairs; 98.75 % at each look is 95 % over all four (Bonferroni).
inline constexpr int kLooks[] = {31, 63, 127, 255};
inline constexpr double kLookConfidence = 0.9875;
inline constexpr double kOverallConfidence = 0.95;
inline constexpr double kNarrowEnough = 0.01;

// Two processes that run the same program differ by where their memory came to lie: up to about 1 us, in an
// A/A run on an H200 (reports/published/h200-spmm, ratio "self"), which no number of repetitions in one
// process averages out. Ratios' intervals are widened by that much; then 75 of 78 A/A intervals of 95 % hold
// 1 (h200-spmm-31).
inline constexpr double kPlacementUs = 1.0, kPlacementShare = 0.001;

// The wall clock is this coarse (measured on an H200: 1 us in the median, up to 3 us and 1 % in a case): only
// what goes beyond counts against the events.
inline constexpr double kWallResolutionUs = 3.0, kWallResolutionShare = 0.01;

// Event time and wall time of the same runs may lie this far apart before the timing is rejected.
inline constexpr double kWallToleranceUs = 5.0, kWallToleranceShare = 0.03;
// The same for the device's idleness before the clock starts. Bringing a context in costs honest programs 150
// or 300 us by chance, and one may keep to the dearer mode: differences of up to 160 us mean nothing.
inline constexpr double kEnterToleranceUs = 200.0, kEnterToleranceShare = 0.03;

class PairedTiming {
 public:
  explicit PairedTiming(std::string main_baseline) : main_baseline_(std::move(main_baseline)) {}

  void add(PairSample sample) { samples_.push_back(std::move(sample)); }
  int pairs() const { return static_cast<int>(samples_.size()); }

  // At a look: whether the main ratio's interval is narrow enough. False between looks.
  bool narrow_enough();

  Interval event_us() const;
  // Baseline / submission, pair by pair.
  std::optional<Interval> ratio(const std::string& baseline) const;

  // The time that counts, and which clock it comes from. What the wall clock shows beyond the trusted wait
  // (the low end of that excess's interval) was hidden from the events; above the clock's resolution it is
  // added to them.
  struct Graded {
    double median_us = 0;
    bool bound_by_wall = false;
    bool rejected = false;     // further apart than the tolerance: the events do not tell the truth
    bool device_busy = false;  // the device worked for the submission before its clock started
    double event_median_us = 0, wall_median_us = 0, null_wall_median_us = 0, excess_low_us = 0,
           enter_excess_low_us = 0;
  };
  Graded graded() const;

  // The record's `timing` and `ratios`.
  nlohmann::json timing_json(const std::string& stopped_by) const;
  nlohmann::json ratios_json() const;

 private:
  std::string main_baseline_;
  std::vector<PairSample> samples_;
  std::vector<int> looks_;
};

}  // namespace warpgrade
