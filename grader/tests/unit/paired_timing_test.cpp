#include "judge/measure/paired_timing.h"

#include <gtest/gtest.h>

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

PairedTiming timing_of(unsigned seed, int pairs, double submission_us, double baseline_us,
                       double hidden_us = 0) {
  std::mt19937 generator(seed);
  PairedTiming timing("base");
  for (int i = 0; i < pairs; ++i) timing.add(pair_of(generator, submission_us, baseline_us, hidden_us));
  return timing;
}

TEST(PairedTiming, OfAProgramAgainstItselfContainsOne) {
  int misses = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Interval ratio = *timing_of(seed, 127, 50, 50).ratio("base");
    misses += ratio.low <= 1 && 1 <= ratio.high ? 0 : 1;
  }
  EXPECT_LE(misses, 10);  // 98.75 % intervals: 2.5 expected
}

TEST(PairedTiming, RatioIsBaselineOverSubmission) {
  const auto timing = timing_of(1, 63, 50, 100);
  EXPECT_NEAR(timing.ratio("base")->median, 2.0, 0.02);
  EXPECT_FALSE(timing.ratio("other").has_value());
}

TEST(PairedTiming, HostCodeCountsOnBothSidesWhereItIsAskedFor) {
  PairedTiming timing("base");
  for (int i = 0; i < 31; ++i) {
    PairSample sample;
    sample.submission_us = 50;
    sample.submission_host_us = 50;
    sample.baseline_us = {{"base", 100}, {"slow", 1000}};
    sample.baseline_host_us = {{"base", 20}};
    timing.add(sample);
  }
  const auto with_host = PairedTiming::Counted::kDeviceAndHost;
  EXPECT_DOUBLE_EQ(timing.ratio("base")->median, 2.0);
  EXPECT_DOUBLE_EQ(timing.ratio("base", with_host)->median, 1.2);
  EXPECT_FALSE(timing.ratio("slow", with_host).has_value());
  EXPECT_DOUBLE_EQ(timing.ratios_json(with_host).at("base").at("median").get<double>(), 1.2);
  EXPECT_FALSE(timing.ratios_json(with_host).contains("slow"));
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
  PairedTiming timing("base");
  for (int i = 0; i < 31; ++i) {
    PairSample sample;
    sample.submission_us = 50;
    sample.submission_clock_us = 500;
    timing.add(sample);
  }
  EXPECT_FALSE(timing.graded().rejected);
  EXPECT_EQ(timing.graded().median_us, 50);
}

TEST(PairedTiming, LooksOnlyAtTheFixedCounts) {
  std::mt19937 generator(5);
  PairedTiming timing("base");
  for (int i = 1; i <= 64; ++i) {
    PairSample sample;
    sample.submission_us = 10;
    sample.baseline_us["base"] = 20;
    timing.add(sample);
    EXPECT_EQ(timing.narrow_enough(), i == 31 || i == 63) << i;
  }
}

TEST(PairedTiming, RatiosAllowForWhereMemoryLies) {
  // The same program in another process, 0.8 us slower in every repetition.
  PairedTiming timing("self");
  for (int i = 0; i < 31; ++i) {
    PairSample sample;
    sample.submission_us = 50;
    sample.baseline_us["self"] = 50.8;
    timing.add(sample);
  }
  const auto ratio = timing.ratios_json().at("self");
  EXPECT_LE(ratio.at("low").get<double>(), 1.0);
  EXPECT_GT(ratio.at("median").get<double>(), 1.0);
}

TEST(PairedTiming, LaunchesAreToldAndWidenNothing) {
  // Their number is the submission's own choice: an interval that grows with it could be had for the asking.
  const auto timing_with = [](std::uint64_t launches) {
    PairedTiming timing("base");
    for (int i = 0; i < 31; ++i) {
      PairSample sample;
      sample.submission_us = 800;
      sample.baseline_us["base"] = 900;
      sample.launches = launches;
      timing.add(sample);
    }
    return timing;
  };
  EXPECT_EQ(timing_with(500).ratios_json(), timing_with(1).ratios_json());
  EXPECT_EQ(timing_with(500).timing_json("budget").at("launches"), 500);
}

// Slow baselines are left out of the later pairs: their ratios say how much their intervals hold, and never
// end the sampling.
TEST(PairedTiming, ABaselineMeasuredTwiceNeitherEndsTheSamplingNorClaims95Percent) {
  PairedTiming timing("base");
  for (int i = 0; i < 31; ++i) {
    PairSample sample;
    sample.submission_us = i % 2 == 0 ? 10 : 11;
    if (i == 0 || i == 2) sample.baseline_us["base"] = 1000;
    timing.add(sample);
  }
  EXPECT_FALSE(timing.narrow_enough());
  const auto ratio = timing.ratios_json().at("base");
  EXPECT_EQ(ratio.at("pairs"), 2);
  EXPECT_EQ(ratio.at("confidence"), 0.5);
  EXPECT_EQ(timing.timing_json("budget").at("confidence"), kOverallConfidence);
}

TEST(PairedTiming, WritesEverySampleIntoTheRecord) {
  const auto json = timing_of(7, 31, 50, 100).timing_json("budget");
  EXPECT_EQ(json.at("samples").at("submission_us").size(), 31u);
  EXPECT_EQ(json.at("samples").at("baseline_us").at("base").size(), 31u);
  EXPECT_EQ(json.at("stopped_by"), "budget");
  EXPECT_EQ(json.at("bound_by"), "device");
  EXPECT_EQ(json.at("launches"), 0);
}

}  // namespace
}  // namespace warpgrade
