// fp32 somewhere inside an operator of lab gcn lies beyond the bounds, in rows of every length that a
// case has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "gcn/oracle.h"
#include "judge/labs/gcn/numbers.h"

namespace warpgrade::gcn {
namespace {

std::vector<double> draw(std::size_t count, std::uint64_t seed, Numbers numbers = Numbers::kUniform) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = number_at(numbers, seed, i, kClasses);
  return values;
}

bool any_beyond(const Expected& expected, const std::function<double(std::size_t)>& got, std::size_t cells) {
  for (std::size_t i = 0; i < cells; ++i) {
    if (!within(got(i), expected.values[i], expected.bounds[i])) return true;
  }
  return false;
}

float single(double value) {
  return static_cast<float>(value);
}

// Row 0 has every vertex as its neighbour, all others themselves.
struct Star {
  std::vector<int> row_offsets{0}, columns;
  explicit Star(int vertices) {
    for (int v = 0; v < vertices; ++v) columns.push_back(v);
    row_offsets.push_back(vertices);
    for (int v = 1; v < vertices; ++v) {
      columns.push_back(v);
      row_offsets.push_back(vertices + v);
    }
  }
  Graph graph() const { return {row_offsets, columns}; }
};

TEST(GcnPrecision, fp32_in_an_aggregation_is_found_in_rows_of_every_length) {
  for (const int vertices : {2, 10, 300, 5000, 66000}) {
    const Star star(vertices);
    const std::vector<double> y = draw(static_cast<std::size_t>(vertices) * kClasses, 11);
    const Expected z = aggregate(star.graph(), y);
    const auto factor = [&](int v) {
      return 1 / std::sqrt(double(vertices)) / (v == 0 ? std::sqrt(double(vertices)) : 1);
    };
    using Term = std::function<double(int, double)>;
    const auto sum = [&](std::size_t column, const Term& term) {
      double total = 0;
      for (int v = 0; v < vertices; ++v) total += term(v, y[static_cast<std::size_t>(v) * kClasses + column]);
      return total;
    };
    const auto right = [&](std::size_t c) {
      return sum(c, [&](int v, double value) { return factor(v) * value; });
    };
    EXPECT_FALSE(any_beyond(z, right, kClasses)) << vertices;
    const auto products = [&](std::size_t c) {
      return sum(c, [&](int v, double value) { return single(factor(v)) * single(value); });
    };
    EXPECT_TRUE(any_beyond(z, products, kClasses)) << vertices;
    const auto inputs = [&](std::size_t c) {
      return sum(c, [&](int v, double value) { return factor(v) * single(value); });
    };
    EXPECT_TRUE(any_beyond(z, inputs, kClasses)) << vertices;
    const auto sums = [&](std::size_t c) {
      float total = 0;
      for (int v = 0; v < vertices; ++v)
        total += single(factor(v) * y[static_cast<std::size_t>(v) * kClasses + c]);
      return double(total);
    };
    EXPECT_TRUE(any_beyond(z, sums, kClasses)) << vertices;
  }
}

TEST(GcnPrecision, fp32_in_a_transform_is_found) {
  const std::vector<double> x = draw(kFeatures, 3), w = draw(std::size_t{kFeatures} * kClasses, 4);
  const Expected y = transform(x, w);
  const auto sum = [&](std::size_t column, auto term) {
    double total = 0;
    for (std::size_t f = 0; f < kFeatures; ++f) total += term(x[f], w[f * kClasses + column]);
    return total;
  };
  EXPECT_FALSE(any_beyond(
      y, [&](std::size_t c) { return sum(c, [](double a, double b) { return a * b; }); }, kClasses));
  EXPECT_TRUE(any_beyond(
      y, [&](std::size_t c) { return sum(c, [](double a, double b) { return double(single(a)) * b; }); },
      kClasses));
  EXPECT_TRUE(any_beyond(
      y, [&](std::size_t c) { return sum(c, [](double a, double b) { return double(single(a * b)); }); },
      kClasses));
}

TEST(GcnPrecision, fp32_in_a_softmax_is_found) {
  for (const Numbers numbers : {Numbers::kModest, Numbers::kShifted}) {
    const std::vector<double> z = draw(64 * kClasses, 5, numbers);
    const Expected o = log_softmax(z);
    const auto with = [&](std::size_t cell, bool exponentials, bool logarithm) {
      const double* row = z.data() + cell / kClasses * kClasses;
      const double largest = *std::max_element(row, row + kClasses);
      double sum = 0;
      for (int c = 0; c < kClasses; ++c)
        sum += exponentials ? std::exp(single(row[c] - largest)) : std::exp(row[c] - largest);
      return z[cell] - largest - (logarithm ? std::log(single(sum)) : std::log(sum));
    };
    EXPECT_FALSE(any_beyond(
        o, [&](std::size_t c) { return with(c, false, false); }, o.values.size()));
    EXPECT_TRUE(any_beyond(
        o, [&](std::size_t c) { return with(c, true, false); }, o.values.size()));
    EXPECT_TRUE(any_beyond(
        o, [&](std::size_t c) { return with(c, false, true); }, o.values.size()));
  }
}

}  // namespace
}  // namespace warpgrade::gcn
