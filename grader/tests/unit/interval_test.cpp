#include "judge/measure/interval.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace warpgrade {
namespace {

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoMiddles) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_THROW(median({}), std::invalid_argument);
}

TEST(MedianInterval, TakesTheBinomialRanks) {
  // n = 31, 98.75 %: P(X <= 8) = 0.0053 <= 0.00625 < P(X <= 9) = 0.0147, so ranks 9 and 23.
  std::vector<double> samples(31);
  std::iota(samples.begin(), samples.end(), 1.0);
  const Interval interval = median_interval(samples, 0.9875);
  EXPECT_EQ(interval.median, 16);
  EXPECT_EQ(interval.low, 9);
  EXPECT_EQ(interval.high, 23);
}

TEST(MedianInterval, OfFewSamplesIsTheirRange) {
  const Interval interval = median_interval({5, 7, 6}, 0.95);
  EXPECT_EQ(interval.low, 5);
  EXPECT_EQ(interval.high, 7);
}

TEST(MedianInterval, SaysWhatConfidenceFewSamplesHold) {
  EXPECT_EQ(median_interval({5}, 0.95).confidence, 0);
  EXPECT_EQ(median_interval({5, 7, 6}, 0.95).confidence, 0.75);
  EXPECT_EQ(median_interval(std::vector<double>(5, 1.0), 0.95).confidence, 0.9375);
  EXPECT_EQ(median_interval(std::vector<double>(6, 1.0), 0.95).confidence, 0.95);
  EXPECT_EQ(median_interval(std::vector<double>(7, 1.0), 0.9875).confidence, 0.984375);
  EXPECT_EQ(median_interval(std::vector<double>(8, 1.0), 0.9875).confidence, 0.9875);
}

TEST(MedianInterval, CoversTheTrueMedianAsOftenAsItSays) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 generator(seed);
  std::lognormal_distribution<double> skewed(0, 1);  // median 1
  int covered = 0;
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> samples(63);
    for (double& sample : samples) sample = skewed(generator);
    const Interval interval = median_interval(samples, 0.95);
    covered += interval.low <= 1 && 1 <= interval.high ? 1 : 0;
  }
  // Five standard deviations below the nominal 95 % of 4000 trials: 3800 - 5 * 13.8.
  EXPECT_GT(covered, 3730);
}

}  // namespace
}  // namespace warpgrade
