// Paired timing of a submission against baselines on one device: the pairs' samples, by the processes that
// they were measured in, when to stop, and what they say. The judge's labs do the running; this file is
// arithmetic and can be tested without a GPU.
//
// A process keeps its own speed for as long as it lives: where its context lies on the device decides what a
// launch costs (1.69 or 1.88 us on an H100), whatever runs in it. So runs of one process are not independent,
// and repeating them says nothing about another process. The independent unit is the pair of processes, of
// the submission and of the baseline. Runs within a process count by their median; the interval is
// Student's, of the logarithms of the process pairs' ratios (Kalibera and Jones, Rigorous Benchmarking in
// Reasonable Time, 2013, sections 5 and 9: the levels of an experiment, of which the highest decides).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judge/measure/interval.h"
#include "record/record.h"

namespace warpgrade {

// One repetition of everything, interleaved. A slow baseline may be missing from a pair. Each time is
// measured by the same class (judge/executor/driver/timing_gate.h): in the executor for the submission, in
// its own process for a baseline of ours.
struct PairSample {
  int process = 0;                 // which of the process pairs: 0, 1, ...
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
  int inputs = 0;                // which kind the lab has: 0 the case's own, else its hard ones
};

inline constexpr int kProcessPairs = 5;  // of a measurement, where nobody says otherwise

// Looks at the first process pair, after so many runs: whether its medians are steady enough. All process
// pairs then have as many runs.
inline constexpr int kLooks[] = {6, 12, 25, 51};
// They are when this part of the interval's half width comes from the runs within processes...
inline constexpr double kSteadyEnough = 0.005;
// ...or this share of what processes add that differ by so much, as those of short programs do on an H100
// (scripts/measuring/self). It decides how long is measured, and nothing about the interval.
inline constexpr double kShareOfProcesses = 0.6, kProcessesDifferUs = 0.15;

// An honest program's processes differ by the baseline's relative spread; those of a short one by the
// baseline's absolute one, which is at most so much.
inline constexpr double kMostShortSpreadUs = 0.25;
// What noise may excuse at most, as a logarithm.
inline constexpr double kMostNoise = 0.1;

// What the host's clock shows beyond the device's is the way from the host's word to the start and from the
// end to the host, and an empty run's time: together 22 to 24 us on an H100, whatever the work is
// (reports/published/h100/benches/process-pairs.md). A submission's may differ from the baseline's by so
// much; what goes beyond counts, and beyond the tolerance the device's clock was not told the truth.
inline constexpr double kClockResolutionUs = 1.0, kClockResolutionShare = 0.005;
inline constexpr double kClockToleranceUs = 5.0, kClockToleranceShare = 0.03;
inline constexpr double kClockConfidence = 0.9875;

class PairedTiming {
 public:
  // `process_pairs`: how many there will be.
  PairedTiming(std::string main_baseline, int process_pairs)
      : main_baseline_(std::move(main_baseline)), process_pairs_(process_pairs) {}

  void add(PairSample sample) { samples_.push_back(std::move(sample)); }
  int pairs() const { return static_cast<int>(samples_.size()); }

  // Whether the first process pair has enough runs. False between looks.
  bool steady_enough() const;

  // Over the processes, each by its median.
  Interval submission_us() const;
  // Baseline / submission over the process pairs: of the device's times, or of these and the host code's
  // together. Nothing where the baseline has no run.
  enum class Counted { kDevice, kDeviceAndHost };
  std::optional<Interval> ratio(const std::string& baseline, Counted counted = Counted::kDevice) const;
  // Half the width, as a logarithm, that the ratio's interval has for an honest program of the submission's
  // length, whose processes differ as the baseline's do; at most kMostNoise. 0 where fewer than two processes
  // have the baseline.
  double honest_noise(const std::string& baseline, Counted counted = Counted::kDevice) const;

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
  Timing record(const std::string& stopped_by) const;
  std::map<std::string, Ratio> ratios(Counted counted = Counted::kDevice) const;

 private:
  // The medians of a process pair's runs, the submission's and a baseline's.
  struct Medians {
    double submission_us = 0, baseline_us = 0;
  };
  std::vector<Medians> medians(const std::string& baseline, Counted counted) const;
  std::vector<double> submission_medians() const;

  std::string main_baseline_;
  int process_pairs_;
  std::vector<PairSample> samples_;
};

}  // namespace warpgrade
