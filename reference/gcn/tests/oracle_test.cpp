#include "gcn/oracle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace warpgrade::gcn {
namespace {

std::vector<double> numbers(std::size_t count, double scale, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-scale, scale);
  std::vector<double> list(count);
  for (double& value : list) value = uniform(random);
  return list;
}

// Three vertices: 0 -> {0, 1, 1}, 1 -> {0}, 2 without entries.
const std::vector<int> kOffsets{0, 3, 4, 4}, kColumns{0, 1, 1, 0};
const Graph kGraph{kOffsets, kColumns};

// How many cells of a plain program's answer are outside the bounds.
int outside(const Expected& expected, const std::vector<double>& got) {
  int count = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    count += within(got[i], expected.values[i], expected.bounds[i]) ? 0 : 1;
  return count;
}

template <typename Real>
std::vector<double> plain_transform(const std::vector<double>& x, const std::vector<double>& w) {
  std::vector<double> y(x.size() / kFeatures * kClasses);
  for (std::size_t cell = 0; cell < y.size(); ++cell) {
    Real sum = 0;
    for (std::size_t f = 0; f < kFeatures; ++f)
      sum += static_cast<Real>(x[cell / kClasses * kFeatures + f]) *
             static_cast<Real>(w[f * kClasses + cell % kClasses]);
    y[cell] = static_cast<double>(sum);
  }
  return y;
}

TEST(GcnOracle, accepts_fp64_and_rejects_fp32_in_the_transform) {
  const auto x = numbers(50 * kFeatures, 1, 1), w = numbers(kFeatures * kClasses, 1, 2);
  const Expected expected = transform(x, w);
  EXPECT_EQ(outside(expected, plain_transform<double>(x, w)), 0);
  EXPECT_GT(outside(expected, plain_transform<float>(x, w)), 700);  // of 800
}

TEST(GcnOracle, bounds_follow_the_magnitude_of_the_numbers) {
  for (const double scale : {1e-150, 1e-5, 1e150}) {
    const auto x = numbers(20 * kFeatures, scale, 3), w = numbers(kFeatures * kClasses, 1, 4);
    const Expected expected = transform(x, w);
    const std::vector<double> plain = plain_transform<double>(x, w);
    EXPECT_EQ(outside(expected, plain), 0) << scale;
    std::vector<double> nearly = plain;
    for (double& value : nearly) value += 1e-12 * scale;
    EXPECT_EQ(outside(expected, nearly), 320) << scale;
  }
}

TEST(GcnOracle, normalizes_by_both_degrees_and_counts_repeated_entries) {
  std::vector<double> y(3 * kClasses, 0);
  y[0] = 3, y[kClasses] = 5, y[2 * kClasses] = 7;
  const Expected z = aggregate(kGraph, y);
  EXPECT_DOUBLE_EQ(z.values[0], 3.0 / 3 + 2 * 5.0 / std::sqrt(3.0));
  EXPECT_DOUBLE_EQ(z.values[kClasses], 3.0 / std::sqrt(3.0));
}

TEST(GcnOracle, a_vertex_without_entries_neither_gets_nor_gives) {
  const std::vector<int> offsets{0, 2, 2}, columns{0, 1};
  std::vector<double> y(2 * kClasses, 2);
  const Expected z = aggregate({offsets, columns}, y);
  EXPECT_DOUBLE_EQ(z.values[0], 2.0 / 2);  // of vertex 0 itself; 1 / sqrt(0) of its neighbour is 0
  EXPECT_EQ(z.values[kClasses], 0);
}

TEST(GcnOracle, log_softmax_holds_where_exp_overflows_or_underflows) {
  for (const double offset : {0.0, 800.0, -800.0, 1e300}) {
    const std::vector<double> z(kClasses, offset);
    const Expected o = log_softmax(z);
    for (const double value : o.values) EXPECT_DOUBLE_EQ(value, -std::log(16.0)) << offset;
  }
  std::vector<double> spread(kClasses, -5000);
  spread[3] = 5000;
  const Expected o = log_softmax(spread);
  EXPECT_EQ(o.values[3], 0);
  EXPECT_EQ(o.values[0], -10000);
}

TEST(GcnOracle, bounds_are_finite_up_to_the_largest_numbers) {
  std::vector<double> z(kClasses, -8e307);
  z[5] = 8e307;
  const Expected o = log_softmax(z);
  for (std::size_t c = 0; c < z.size(); ++c) {
    EXPECT_LT(o.bounds[c], 1e294) << c;
    EXPECT_FALSE(within(o.values[c] - 1e295, o.values[c], o.bounds[c])) << c;
  }
}

TEST(GcnOracle, the_whole_is_its_three_operators_and_allows_the_other_order) {
  const auto x = numbers(3 * kFeatures, 1, 5), w = numbers(kFeatures * kClasses, 1, 6);
  const Expected whole = run(kGraph, x, w);
  const Expected apart = log_softmax(aggregate(kGraph, transform(x, w).values).values);
  EXPECT_EQ(outside(whole, apart.values), 0);

  std::vector<double> gathered(x.size(), 0);  // N * X, then * W
  for (std::size_t f = 0; f < kFeatures; ++f) {
    gathered[f] = x[f] / 3 + 2 / std::sqrt(3.0) * x[kFeatures + f];
    gathered[kFeatures + f] = x[f] / std::sqrt(3.0);
  }
  EXPECT_EQ(outside(whole, log_softmax(plain_transform<double>(gathered, w)).values), 0);
}

TEST(GcnOracle, nothing_but_a_finite_number_is_within_bounds) {
  EXPECT_TRUE(within(1, 1, 0));
  EXPECT_FALSE(within(std::numeric_limits<double>::quiet_NaN(), 1, 1));
  EXPECT_FALSE(within(std::numeric_limits<double>::infinity(), 1, std::numeric_limits<double>::infinity()));
}

}  // namespace
}  // namespace warpgrade::gcn
