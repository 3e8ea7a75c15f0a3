#include "histogram/oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <stdexcept>

#include "histogram/inputs.h"

namespace warpgrade::histogram {
namespace {

std::vector<int> ids(Pattern pattern, int count, int nodes, std::uint64_t seed = 3) {
  std::vector<int> list(count);
  for (int i = 0; i < count; ++i) list[i] = id_at(pattern, seed, i, nodes);
  return list;
}

TEST(HistogramOracle, counts_groups_of_forty_and_a_partial_last_one) {
  const std::vector<int> some{0, 39, 40, 79, 80, 80, 81};
  EXPECT_EQ(count(some, 82), (std::vector<unsigned>{2, 2, 3}));
  EXPECT_EQ(count({}, 41), (std::vector<unsigned>{0, 0}));
}

TEST(HistogramOracle, refuses_an_id_that_is_no_node) {
  EXPECT_THROW(count(std::vector<int>{3, 50}, 50), std::out_of_range);
  EXPECT_THROW(count(std::vector<int>{-1}, 50), std::out_of_range);
}

TEST(HistogramInputs, stay_in_range_for_every_pattern_and_size) {
  for (const Pattern pattern : {Pattern::kUniform, Pattern::kPowerLaw, Pattern::kFirstBin, Pattern::kLastBin,
                                Pattern::kOneBin, Pattern::kHalfLast}) {
    for (const int nodes : {1, 7, 40, 41, 999, 232965, 2000000000}) {
      for (const int id : ids(pattern, 2000, nodes))
        ASSERT_TRUE(id >= 0 && id < nodes) << nodes << ": " << id;
    }
  }
}

TEST(HistogramInputs, are_what_their_pattern_says) {
  const int nodes = 1013;
  const auto bins_of = [&](Pattern pattern) {
    const std::vector<unsigned> counts = count(ids(pattern, 5000, nodes), nodes);
    return std::count_if(counts.begin(), counts.end(), [](unsigned c) { return c > 0; });
  };
  EXPECT_EQ(bins_of(Pattern::kUniform), 26);
  EXPECT_EQ(bins_of(Pattern::kFirstBin), 1);
  EXPECT_EQ(bins_of(Pattern::kOneBin), 1);
  EXPECT_EQ(count(ids(Pattern::kLastBin, 100, nodes), nodes).back(), 100u);
  EXPECT_GE(count(ids(Pattern::kHalfLast, 5000, nodes), nodes).back(), 2500u);
}

TEST(HistogramInputs, follow_the_power_law_and_scatter_it) {
  const int nodes = 10000, draws = 200000;
  std::vector<unsigned> hits(nodes);
  for (const int id : ids(Pattern::kPowerLaw, draws, nodes)) ++hits[id];
  // A share sqrt(x) of the draws goes to the first share x of the ranks.
  unsigned first_percent = 0;
  for (int rank = 0; rank < nodes / 100; ++rank) first_percent += hits[scatter(rank, nodes)];
  EXPECT_NEAR(first_percent, 0.1 * draws, 0.005 * draws);
  std::set<int> bins;
  for (int rank = 0; rank < 20; ++rank) bins.insert(scatter(rank, nodes) / 40);
  EXPECT_GE(bins.size(), 10u);
}

}  // namespace
}  // namespace warpgrade::histogram
