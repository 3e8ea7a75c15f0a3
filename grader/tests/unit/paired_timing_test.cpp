#include "judge/measure/paired_timing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace warpgrade {
namespace {

// An honest pair: the host's clock sees what the device's sees, plus its way there and back.
PairSample pair_of(std::mt19937& generator, double submission_us, double baseline_us, double hidden_us = 0) {
  std::normal_distribution<double> noise(1, 0.01), way(18.7, 0.4);
  PairSample sample;
  sample.submission_us = sample.submission_event_us = submission_us * noise(generator);
  sample.submission_clock_us = sample.submission_us + hidden_us + way(generator);
  sample.baseline_us["base"] = baseline_us * noise(generator);
  sample.baseline_clock_excess_us = way(generator);
  return sample;
}

// `apart_us`: the deviation of a process from another of the same program, the same in all its runs.
PairedTiming timing_of(unsigned seed, int pairs, double submission_us, double baseline_us,
                       double hidden_us = 0, double apart_us = 0) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> apart(0, 1);
  PairedTiming timing("base", kProcessPairs);
  const int in_process = (pairs + kProcessPairs - 1) / kProcessPairs;
  double own_us = 0, other_us = 0;
  for (int i = 0; i < pairs; ++i) {
    if (i % in_process == 0) own_us = apart_us * apart(generator), other_us = apart_us * apart(generator);
    PairSample sample = pair_of(generator, submission_us + own_us, baseline_us + other_us, hidden_us);
    sample.process = i / in_process;
    timing.add(std::move(sample));
  }
  return timing;
}

// As on a GPU: what a process has of its own is larger than what its runs differ by.
TEST(PairedTiming, OfAProgramAgainstItselfContainsOne) {
  for (const double apart_us : {0.0, 0.2, 1.0}) {
    int misses = 0;
    for (unsigned seed = 0; seed < 400; ++seed) {
      const Interval ratio = *timing_of(seed, 35, 50, 50, 0, apart_us).ratio("base");
      misses += ratio.low <= 1 && 1 <= ratio.high ? 0 : 1;
    }
    EXPECT_LE(misses, 38) << apart_us;  // of 95 % intervals 20 expected, four deviations above
    EXPECT_GE(misses, 3) << apart_us;   // and not of 100 %
  }
}

TEST(PairedTiming, MoreRunsInTheSameProcessesDoNotMakeUpForMoreProcesses) {
  const auto width_of = [](int pairs) {
    const Interval ratio = *timing_of(11, pairs, 50, 50, 0, 1).ratio("base");
    return ratio.high - ratio.low;
  };
  EXPECT_GT(width_of(255), width_of(35) / 2);
}

TEST(PairedTiming, RatioIsBaselineOverSubmission) {
  const auto timing = timing_of(1, 63, 50, 100);
  EXPECT_NEAR(timing.ratio("base")->middle, 2.0, 0.02);
  EXPECT_FALSE(timing.ratio("other").has_value());
}

TEST(PairedTiming, HostCodeCountsOnBothSidesWhereItIsAskedFor) {
  PairedTiming timing("base", kProcessPairs);
  for (int i = 0; i < 31; ++i) {
    PairSample sample;
    sample.submission_us = 50;
    sample.submission_host_us = 50;
    sample.baseline_us = {{"base", 100}, {"slow", 1000}};
    sample.baseline_host_us = {{"base", 20}};
    timing.add(sample);
  }
  const auto with_host = PairedTiming::Counted::kDeviceAndHost;
  EXPECT_DOUBLE_EQ(timing.ratio("base")->middle, 2.0);
  EXPECT_DOUBLE_EQ(timing.ratio("base", with_host)->middle, 1.2);
  EXPECT_FALSE(timing.ratio("slow", with_host).has_value());
  EXPECT_DOUBLE_EQ(timing.ratios(with_host).at("base").median, 1.2);
  EXPECT_FALSE(timing.ratios(with_host).contains("slow"));
}

TEST(PairedTiming, HonestClocksAgree) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    EXPECT_FALSE(timing_of(seed, 63, 50, 100).graded().rejected) << "seed " << seed;
  }
}

TEST(PairedTiming, WorkHiddenFromTheDevicesClockIsRejected) {
  const auto graded = timing_of(3, 63, 10, 100, 40).graded();  // the device says 10 us, the host 50
  EXPECT_TRUE(graded.rejected);
  EXPECT_TRUE(graded.bound_by_host);
}

TEST(PairedTiming, WhatTheHostsClockShowsBeyondItsResolutionIsAdded) {
  const auto graded = timing_of(3, 255, 50, 100, 3).graded();
  EXPECT_TRUE(graded.bound_by_host);
  EXPECT_FALSE(graded.rejected);
  EXPECT_NEAR(graded.median_us, 53, 0.5);
}

TEST(PairedTiming, ABaselineThatIsInNoPairLeavesTheDevicesClock) {
  PairedTiming timing("base", kProcessPairs);
  for (int i = 0; i < 31; ++i) {
    PairSample sample;
    sample.submission_us = 50;
    sample.submission_clock_us = 500;
    timing.add(sample);
  }
  EXPECT_FALSE(timing.graded().rejected);
  EXPECT_DOUBLE_EQ(timing.graded().median_us, 50);
}

TEST(PairedTiming, LooksOnlyAtTheFixedCounts) {
  PairedTiming timing("base", kProcessPairs);
  for (int i = 1; i <= 26; ++i) {
    PairSample sample;
    sample.submission_us = 10;
    sample.baseline_us["base"] = 20;
    timing.add(sample);
    EXPECT_EQ(timing.steady_enough(), i == 6 || i == 12 || i == 25) << i;
  }
}

TEST(PairedTiming, AProgramWhoseRunsDifferIsRunMoreOften) {
  const auto runs_of = [](double noise, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> deviation(0, noise);
    PairedTiming timing("base", kProcessPairs);
    for (int i = 1; i <= 51; ++i) {
      PairSample sample;
      sample.submission_us = 1000 * std::exp(deviation(generator));
      sample.baseline_us["base"] = 2000;
      timing.add(sample);
      if (timing.steady_enough()) return i;
    }
    return 52;
  };
  // Six runs can look steady by chance: the seeds 1 to 101 together cannot.
  const auto middle = [&](double noise) {
    std::vector<int> runs;
    for (unsigned seed = 1; seed <= 101; ++seed) runs.push_back(runs_of(noise, seed));
    std::nth_element(runs.begin(), runs.begin() + 50, runs.end());
    return runs[50];
  };
  EXPECT_EQ(middle(0.001), 6);
  EXPECT_GT(middle(0.02), 25);
}

// An honest program's noise follows the baseline's processes, whatever the submission does.
TEST(PairedTiming, ANoisySubmissionIsExcusedForNoMoreThanAnHonestOne) {
  const auto timing_with = [](double own_deviation, double baseline_deviation) {
    PairedTiming timing("base", kProcessPairs);
    constexpr double kApart[] = {-1.2, 0.4, 1.1, -0.7, 0.4};
    for (int i = 0; i < 35; ++i) {
      PairSample sample;
      sample.process = i / 7;
      sample.submission_us = 100 * std::exp(own_deviation * kApart[i / 7]);
      sample.baseline_us["base"] = 100 * std::exp(baseline_deviation * kApart[(i / 7 + 2) % 5]);
      timing.add(sample);
    }
    return timing;
  };
  EXPECT_DOUBLE_EQ(timing_with(0.2, 0.002).honest_noise("base"), timing_with(0, 0.002).honest_noise("base"));
  EXPECT_GT(timing_with(0.2, 0.002).ratio("base")->high, 1.2);
  EXPECT_NEAR(timing_with(0.2, 0.002).honest_noise("base"),
              2.776 * 0.002 * 0.957 * std::sqrt(2) / std::sqrt(5), 1e-4);
  EXPECT_EQ(timing_with(0, 0.5).honest_noise("base"), kMostNoise);
  EXPECT_EQ(timing_with(0, 0.002).honest_noise("other"), 0);
}

TEST(PairedTiming, AShortProgramIsExcusedForWhatShortProcessesDifferBy) {
  PairedTiming timing("base", kProcessPairs);
  for (int i = 0; i < 35; ++i) {
    PairSample sample;
    sample.process = i / 7;
    sample.submission_us = 5;
    sample.baseline_us["base"] = 100 + 0.2 * (i / 7 % 2);
    timing.add(sample);
  }
  // The baseline's 0.11 us are 2.2 % of 5 us.
  EXPECT_NEAR(timing.honest_noise("base"), 2.776 * 0.11 / 5 / std::sqrt(5), 2e-3);
}

TEST(PairedTiming, LaunchesAreToldAndWidenNothing) {
  // Their number is the submission's own choice: an interval that grows with it could be had for the asking.
  const auto timing_with = [](std::uint64_t launches) {
    PairedTiming timing("base", kProcessPairs);
    for (int i = 0; i < 31; ++i) {
      PairSample sample;
      sample.submission_us = 800;
      sample.baseline_us["base"] = 900;
      sample.launches = launches;
      timing.add(sample);
    }
    return timing;
  };
  EXPECT_EQ(timing_with(500).ratios(), timing_with(1).ratios());
  EXPECT_EQ(timing_with(500).record("budget").launches, 500);
}

// A slow baseline that only one process has is no interval, and says so.
TEST(PairedTiming, ABaselineOfOneProcessHasNoInterval) {
  PairedTiming timing("base", kProcessPairs);
  for (int i = 0; i < 35; ++i) {
    PairSample sample;
    sample.process = i / 7;
    sample.submission_us = i % 2 == 0 ? 10 : 10.01;
    if (i == 0 || i == 2) sample.baseline_us["base"] = 1000;
    timing.add(sample);
  }
  const auto ratio = timing.ratios().at("base");
  EXPECT_EQ(ratio.pairs, 2);
  EXPECT_EQ(ratio.processes, 1);
  EXPECT_EQ(ratio.confidence, 0);
  EXPECT_EQ(timing.record("budget").confidence, 0.95);
}

TEST(PairedTiming, WritesEverySampleIntoTheRecord) {
  const nlohmann::json json = timing_of(7, 35, 50, 100).record("budget");
  EXPECT_EQ(json.at("samples").at("submission_us").size(), 35u);
  EXPECT_EQ(json.at("samples").at("baseline_us").at("base").size(), 35u);
  EXPECT_EQ(json.at("samples").at("process").at(34), 4);
  EXPECT_EQ(json.at("processes"), 5);
  EXPECT_EQ(json.at("stopped_by"), "budget");
  EXPECT_EQ(json.at("bound_by"), "device");
  EXPECT_EQ(json.at("launches"), 0);
}

}  // namespace
}  // namespace warpgrade
