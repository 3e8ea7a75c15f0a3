#include "measure/paired_timing.h"

#include <gtest/gtest.h>

#include <random>

namespace warpgrade {
namespace {

// An honest pair: the wall clock sees what the events see, plus the cost of asking.
PairSample pair_of(std::mt19937& generator, double submission_us, double baseline_us, double hidden_us = 0) {
  std::normal_distribution<double> noise(1, 0.01);
  std::exponential_distribution<double> delay(1 / 8.0);
  PairSample sample;
  sample.submission_event_us = submission_us * noise(generator);
  sample.submission_wall_us = sample.submission_event_us + hidden_us + 22 + delay(generator);
  sample.null_wall_us = sample.submission_event_us + 22 + delay(generator);
  sample.baseline_event_us["base"] = baseline_us * noise(generator);
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

TEST(PairedTiming, HonestClocksAgree) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    EXPECT_FALSE(timing_of(seed, 63, 50, 100).graded().rejected) << "seed " << seed;
  }
}

TEST(PairedTiming, WorkHiddenFromTheEventsIsRejected) {
  const auto graded = timing_of(3, 63, 10, 100, 40).graded();  // events say 10 us, the clock 50
  EXPECT_TRUE(graded.rejected);
  EXPECT_TRUE(graded.bound_by_wall);
}

TEST(PairedTiming, WorkAheadOfTheClockIsFound) {
  for (const double ahead_us : {0.0, 400.0}) {
    std::mt19937 generator(11);
    std::bernoulli_distribution switched(0.5);  // a change of context costs 160 us more, by chance
    PairedTiming timing("base");
    for (int i = 0; i < 255; ++i) {
      PairSample sample = pair_of(generator, 50, 100);
      sample.submission_enter_us = 180 + 160 * switched(generator) + ahead_us;
      sample.null_enter_us = 180 + 160 * switched(generator);
      timing.add(sample);
    }
    EXPECT_EQ(timing.graded().device_busy, ahead_us > 0) << ahead_us;
  }
}

TEST(PairedTiming, LooksOnlyAtTheFixedCounts) {
  std::mt19937 generator(5);
  PairedTiming timing("base");
  for (int i = 1; i <= 64; ++i) {
    PairSample sample;
    sample.submission_event_us = 10;
    sample.submission_wall_us = 30;
    sample.null_wall_us = 30;
    sample.baseline_event_us["base"] = 20;
    timing.add(sample);
    EXPECT_EQ(timing.narrow_enough(), i == 31 || i == 63) << i;
  }
}

TEST(PairedTiming, RatiosAllowForWhereMemoryLies) {
  // The same program in another process, 0.8 us slower in every repetition.
  PairedTiming timing("self");
  for (int i = 0; i < 31; ++i) {
    PairSample sample;
    sample.submission_event_us = 50;
    sample.submission_wall_us = sample.null_wall_us = 70;
    sample.baseline_event_us["self"] = 50.8;
    timing.add(sample);
  }
  const auto ratio = timing.ratios_json().at("self");
  EXPECT_LE(ratio.at("low").get<double>(), 1.0);
  EXPECT_GT(ratio.at("median").get<double>(), 1.0);
}

// Slow baselines are left out of the later pairs: their ratios say how much their intervals hold, and never
// end the sampling.
TEST(PairedTiming, ABaselineMeasuredTwiceNeitherEndsTheSamplingNorClaims95Percent) {
  PairedTiming timing("base");
  for (int i = 0; i < 31; ++i) {
    PairSample sample;
    sample.submission_event_us = i % 2 == 0 ? 10 : 11;
    sample.submission_wall_us = sample.null_wall_us = 30;
    if (i == 0 || i == 2) sample.baseline_event_us["base"] = 1000;
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
  EXPECT_EQ(json.at("samples").at("submission_event_us").size(), 31u);
  EXPECT_EQ(json.at("samples").at("baseline_event_us").at("base").size(), 31u);
  EXPECT_EQ(json.at("stopped_by"), "budget");
  EXPECT_EQ(json.at("bound_by"), "event");
}

}  // namespace
}  // namespace warpgrade
