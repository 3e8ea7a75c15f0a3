// The bounds against exact tails: never below them, and not uselessly far above.
#include "sampling/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace warpgrade::sampling {
namespace {

double log_binomial(int n, int k, double p) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(p) +
         (n - k) * std::log1p(-p);
}

double exact_upper_tail(int n, int hits, double p) {
  double tail = 0;
  for (int k = hits; k <= n; ++k) tail += std::exp(log_binomial(n, k, p));
  return tail;
}

TEST(HitsBound, is_above_the_exact_tail_and_within_a_factor_of_a_hundred) {
  for (const double p : {0.01, 0.1, 0.5}) {
    const int n = 1000;
    for (int hits = static_cast<int>(n * p) + 10; hits < std::min(n, static_cast<int>(n * p) + 90);
         hits += 10) {
      const double exact = exact_upper_tail(n, hits, p), bound = std::exp(log_tail_of_hits(hits, n, n * p));
      EXPECT_GE(bound, exact) << p << " " << hits;
      EXPECT_LE(bound, 100 * exact + 1e-30) << p << " " << hits;
    }
  }
}

TEST(HitsBound, knows_what_cannot_happen) {
  EXPECT_EQ(log_tail_of_hits(1, 10, 0), -HUGE_VAL);
  EXPECT_EQ(log_tail_of_hits(9, 10, 10), -HUGE_VAL);
  EXPECT_EQ(log_tail_of_hits(0, 0, 0), 0);
}

// Two categories: the statistic's tail is a sum over the binomial.
TEST(DivergenceBound, is_above_the_exact_tail_of_two_categories) {
  const int n = 200;
  for (int high = 110; high <= 200; high += 10) {
    const std::vector<std::uint64_t> counts{static_cast<std::uint64_t>(high),
                                            static_cast<std::uint64_t>(n - high)};
    const double exact = 2 * exact_upper_tail(n, high, 0.5);
    EXPECT_GE(std::exp(log_tail_of_divergence(divergence_from_uniform(counts), 1)), exact) << high;
  }
}

// Sparse counts, where the chi-square approximation fails: 1000 sets of 100 draws into 64 categories.
TEST(DivergenceBound, holds_for_fewer_draws_than_two_a_category) {
  std::mt19937_64 random(5);
  for (const double level : {0.3, 0.1, 0.01}) {
    int below = 0;
    for (int set = 0; set < 1000; ++set) {
      std::vector<std::uint64_t> counts(64);
      for (int draw = 0; draw < 100; ++draw) ++counts[random() % 64];
      below += std::exp(log_tail_of_divergence(divergence_from_uniform(counts), 63)) < level ? 1 : 0;
    }
    EXPECT_LE(below, 1000 * level) << level;
  }
}

TEST(DivergenceBound, keeps_small_deviations_of_large_counts) {
  // Relative deviations of 1e-6 of 10^12: n KL = n delta^2 / 2, far below rounding of x ln x.
  const std::vector<std::uint64_t> counts{1'000'000'000'000ull + 1'000'000ull,
                                          1'000'000'000'000ull - 1'000'000ull};
  EXPECT_NEAR(divergence_from_uniform(counts), 1.0, 1e-3);
}

TEST(Alarm, is_one_in_a_million_for_a_million_tests) {
  EXPECT_LE(kTestAlarm * kMostTests, kRunAlarm);
  EXPECT_TRUE(rejects(std::log(0.9e-12)));
  EXPECT_FALSE(rejects(std::log(1.1e-12)));
  EXPECT_FALSE(rejects(0));
}

TEST(Power, a_bias_of_the_stated_size_is_found) {
  // Half of the levels one part in `1/delta` heavier: KL = delta^2 / 2.
  const double delta = 0.01;
  const auto draws = static_cast<std::uint64_t>(detectable_divergence(63) / (delta * delta / 2));
  std::mt19937_64 random(9);
  int found = 0;
  for (int set = 0; set < 50; ++set) {
    std::vector<std::uint64_t> counts(64);
    for (int c = 0; c < 64; ++c) {
      const double mean = static_cast<double>(draws) / 64 * (c < 32 ? 1 + delta : 1 - delta);
      counts[c] = static_cast<std::uint64_t>(std::poisson_distribution<long>(mean)(random));
    }
    found += rejects(log_tail_of_divergence(divergence_from_uniform(counts), 63)) ? 1 : 0;
  }
  EXPECT_GE(found, 45);
}

}  // namespace
}  // namespace warpgrade::sampling
