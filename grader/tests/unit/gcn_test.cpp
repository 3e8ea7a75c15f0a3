// Lab gcn: the judge's own arithmetic, graphs and comparison.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "base/error.h"
#include "judge/labs/gcn/checks.h"
#include "judge/labs/gcn/double_double.h"

namespace warpgrade::gcn {
namespace {

long double value(DoubleDouble a) {
  return static_cast<long double>(a.high) + a.low;
}

// long double has 64 bits, so agreement is seen to 2^-63.
void expect_near(DoubleDouble got, long double want, long double scale, const char* what, double at) {
  EXPECT_LE(std::fabs(value(got) - want), scale * 0x1p-62L) << what << " at " << at;
}

TEST(GcnDoubleDouble, agrees_with_long_double) {
  const unsigned seed = 20261;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> near(-1, 1), below(-60, 0), sum(1, 16);
  for (int i = 0; i < 20000; ++i) {
    const double a = near(random), b = near(random);
    expect_near(two_product(a, b), static_cast<long double>(a) * b, std::fabs(a * b), "product", a);
    expect_near(two_sum(a, b), static_cast<long double>(a) + b, 1, "sum", a);
    const double z = below(random), s = sum(random);
    expect_near(exponential({z, 0}), std::exp(static_cast<long double>(z)), 4 * std::exp(z), "exp", z);
    expect_near(logarithm({s, 0}), std::log(static_cast<long double>(s)), 4, "log", s);
    const int degree = 1 + static_cast<int>(random() % 1000000);
    expect_near(inverse_root(degree), 1 / std::sqrt(static_cast<long double>(degree)), 2 / std::sqrt(degree),
                "root", degree);
  }
  EXPECT_EQ(value(inverse_root(0)), 0);
  EXPECT_EQ(value(exponential({0, 0})), 1);
  EXPECT_EQ(value(exponential({-1e308, 0})), 0);
}

TEST(GcnDoubleDouble, sums_keep_what_doubles_lose) {
  DoubleDouble sum;
  for (const double term : {1.0, 0x1p-70, 0x1p-80, -1.0}) sum = add(sum, {term, 0});
  EXPECT_EQ(value(sum), 0x1p-70L + 0x1p-80L);
}

TEST(GcnNumbers, reach_their_scales_and_stay_finite) {
  for (const Numbers kind :
       {Numbers::kUniform, Numbers::kSmall, Numbers::kLarge, Numbers::kTiny, Numbers::kHuge,
        Numbers::kRowScales, Numbers::kModest, Numbers::kShifted, Numbers::kExtreme, Numbers::kTies}) {
    std::set<double> seen;
    for (int i = 0; i < 1600; ++i) {
      const double number = number_at(kind, 7, i, kClasses);
      EXPECT_TRUE(std::isfinite(number) && std::fabs(number) <= 8e307);
      seen.insert(number);
    }
    EXPECT_GT(seen.size(), kind == Numbers::kTies ? 90u : 1500u) << static_cast<int>(kind);
  }
}

// Entries with the degrees of both ends, whatever the names.
std::multiset<std::pair<int, int>> degrees_of_entries(const HostGraph& graph) {
  std::multiset<std::pair<int, int>> found;
  const auto degree = [&](int v) { return graph.row_offsets[v + 1] - graph.row_offsets[v]; };
  for (int v = 0; v < graph.vertices(); ++v) {
    for (int e = graph.row_offsets[v]; e < graph.row_offsets[v + 1]; ++e)
      found.insert({degree(v), degree(graph.columns[e])});
  }
  return found;
}

void expect_contract(const HostGraph& graph, int vertices) {
  ASSERT_EQ(graph.vertices(), vertices);
  ASSERT_EQ(graph.row_offsets.back(), static_cast<int>(graph.columns.size()));
  for (int v = 0; v < vertices; ++v) {
    const auto begin = graph.columns.begin() + graph.row_offsets[v],
               end = graph.columns.begin() + graph.row_offsets[v + 1];
    EXPECT_TRUE(std::is_sorted(begin, end));
    EXPECT_TRUE(std::all_of(begin, end, [&](int column) { return column >= 0 && column < vertices; }));
  }
}

TEST(GcnGraphs, keep_the_contract_and_relabelling_keeps_their_shape) {
  for (const GraphPattern pattern :
       {GraphPattern::kEven, GraphPattern::kPowerLaw, GraphPattern::kIsolated, GraphPattern::kRepeated,
        GraphPattern::kHeavyHubs, GraphPattern::kLoopsOnly, GraphPattern::kNoEntries, GraphPattern::kWeb}) {
    const HostGraph graph = make_graph(pattern, 507, 11), renamed = relabel(graph, 12);
    expect_contract(graph, 507);
    expect_contract(renamed, 507);
    EXPECT_EQ(degrees_of_entries(graph), degrees_of_entries(renamed));
    if (graph.columns.size() > 507) {
      EXPECT_NE(make_graph(pattern, 507, 13).columns, graph.columns);
    }
  }
}

TEST(GcnGraphs, two_neighbouring_hubs_have_degrees_whose_product_exceeds_32_bits) {
  const HostGraph graph = make_graph(GraphPattern::kHeavyHubs, 307, 3);
  std::vector<int> hubs;
  for (int v = 0; v < graph.vertices(); ++v)
    if (graph.row_offsets[v + 1] - graph.row_offsets[v] > 65536) hubs.push_back(v);
  ASSERT_EQ(hubs.size(), 2u);
  EXPECT_TRUE(std::binary_search(graph.columns.begin() + graph.row_offsets[hubs[0]],
                                 graph.columns.begin() + graph.row_offsets[hubs[0] + 1], hubs[1]));
}

TEST(GcnGraphs, the_stand_in_of_the_web_has_its_entries_and_every_self_loop) {
  const HostGraph graph = make_graph(GraphPattern::kWeb, 281903, 3);
  EXPECT_GE(graph.columns.size(), 2312497u);
  EXPECT_LE(graph.columns.size(), 2312497u + 281903u);
  for (int v = 0; v < graph.vertices(); v += 97)
    EXPECT_TRUE(std::binary_search(graph.columns.begin() + graph.row_offsets[v],
                                   graph.columns.begin() + graph.row_offsets[v + 1], v));
}

TEST(GcnComparison, accepts_what_is_within_bounds_and_tells_what_is_wrong) {
  const HostGraph graph = make_graph(GraphPattern::kIsolated, 20, 5);
  const std::vector<double> y(20 * kClasses, 1);
  const Expected expected = aggregate(graph.view(), y);
  std::vector<double> got = expected.values;
  EXPECT_EQ(compare(graph.view(), expected, got).wrong, 0);
  got[3 * kClasses + 2] = std::numeric_limits<double>::quiet_NaN();
  got[19 * kClasses] += 1e-7;
  const Comparison comparison = compare(graph.view(), expected, got);
  EXPECT_EQ(comparison.wrong, 2);
  EXPECT_EQ(comparison.not_finite, 1);
  EXPECT_EQ(comparison.first.front().row, 3);
  EXPECT_EQ(comparison.first.front().column, 2);
  EXPECT_EQ(comparison.last_row, 19);
}

TEST(GcnComparison, a_case_that_leaves_the_range_of_fp64_is_a_fault_of_the_judge) {
  std::vector<double> z(kClasses, 0);
  EXPECT_NO_THROW(expect(Operator::kLogSoftmax, {}, z, {}));
  z[1] = 1.7e308;
  z[2] = -1.7e308;
  EXPECT_THROW(expect(Operator::kLogSoftmax, {}, z, {}), JudgeFault);
}

TEST(GcnComparison, disagreement_with_the_oracle_is_a_fault_of_the_judge) {
  const std::vector<double> z(kClasses, 1);
  const Expected oracle = log_softmax(z);
  Expected other = oracle;
  EXPECT_NO_THROW(require_agreement(oracle, other));
  other.values[5] = std::nextafter(other.values[5], 0);
  EXPECT_NO_THROW(require_agreement(oracle, other));
  other.values[5] += oracle.bounds[5] / 4;
  EXPECT_THROW(require_agreement(oracle, other), JudgeFault);
  other = oracle;
  other.bounds[5] *= 1.001;
  EXPECT_THROW(require_agreement(oracle, other), JudgeFault);
}

}  // namespace
}  // namespace warpgrade::gcn
