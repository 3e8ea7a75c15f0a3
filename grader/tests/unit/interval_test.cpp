#include "judge/measure/interval.h"

#include <gtest/gtest.h>

#include <cmath>
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
  EXPECT_EQ(interval.middle, 16);
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

// R's binom.test(k, n, alternative = "less")$conf.int[2].
TEST(LargestShare, IsClopperAndPearsonsLimit) {
  EXPECT_NEAR(largest_share(0, 48, 0.95), 1 - std::pow(0.05, 1.0 / 48), 1e-9);
  EXPECT_NEAR(largest_share(1, 10, 0.95), 0.3941633, 1e-6);
  EXPECT_NEAR(largest_share(5, 20, 0.95), 0.4555824, 1e-6);
  EXPECT_EQ(largest_share(7, 7, 0.95), 1);
  EXPECT_EQ(largest_share(0, 0, 0.95), 1);
}

// NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2: t of 4 degrees of freedom is 2.776.
TEST(GeometricInterval, IsStudentsOfTheLogarithms) {
  const Interval interval = geometric_interval({1.0, 1.1, 0.9, 1.05, 0.95});
  // By hand: the logarithms' mean -0.0025107, deviation 0.0793244, times 2.776 over the root of 5.
  EXPECT_NEAR(interval.middle, 0.9974925, 1e-6);
  EXPECT_NEAR(interval.low, 0.903937, 1e-4);
  EXPECT_NEAR(interval.high, 1.100731, 1e-4);
  EXPECT_EQ(interval.confidence, 0.95);
}

TEST(GeometricInterval, OfOneValueHoldsNothing) {
  const Interval interval = geometric_interval({1.2});
  EXPECT_DOUBLE_EQ(interval.low, 1.2);
  EXPECT_DOUBLE_EQ(interval.high, 1.2);
  EXPECT_EQ(interval.confidence, 0);
  EXPECT_THROW(geometric_interval({}), std::invalid_argument);
}

// Processes of one program have one of two speeds, as on an H100; a bootstrap of five covers too
// little there.
TEST(GeometricInterval, HoldsTheTruthOfTwoKindsOfProcesses) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 generator(seed);
  std::bernoulli_distribution far(0.5);
  std::normal_distribution<double> noise(0, 0.002);
  int held = 0;
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> ratios;
    for (int pair = 0; pair < 5; ++pair) {
      const double difference = (far(generator) ? 0.1 : 0.0) - (far(generator) ? 0.1 : 0.0);
      ratios.push_back(std::exp(difference + noise(generator)));
    }
    const Interval interval = geometric_interval(ratios);
    held += interval.low <= 1 && 1 <= interval.high ? 1 : 0;
  }
  EXPECT_GT(held, kTrials * 0.95 - 5 * 13.8);
}

}  // namespace
}  // namespace warpgrade
