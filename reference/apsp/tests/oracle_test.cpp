#include "apsp/oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "apsp/inputs.h"

namespace warpgrade::apsp {
namespace {

constexpr Pattern kPatterns[] = {Pattern::kComplete,    Pattern::kSparse, Pattern::kIslands,
                                 Pattern::kZeroWeights, Pattern::kOneWay, Pattern::kRing,
                                 Pattern::kHeavy};

std::vector<int> draw(Pattern pattern, int n, std::uint64_t seed = 5) {
  std::vector<int> graph(static_cast<std::size_t>(n) * n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) graph[static_cast<std::size_t>(i) * n + j] = edge_at(pattern, seed, i, j, n);
  return graph;
}

// Bellman and Ford's way, which shares nothing with the oracle: relax until nothing changes.
std::vector<int> by_fixed_point(std::vector<int> graph, int n) {
  const std::vector<int> edges = graph;
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < n; ++k)
        for (int j = 0; j < n; ++j) {
          const std::int64_t through = std::int64_t{graph[i * n + k]} + edges[k * n + j];
          if (through >= graph[i * n + j]) continue;
          graph[i * n + j] = static_cast<int>(through);
          changed = true;
        }
  }
  return graph;
}

TEST(ApspOracle, agrees_with_relaxing_until_nothing_changes) {
  for (const Pattern pattern : kPatterns) {
    for (const int n : {1, 2, 63, 64, 65, 130}) {
      std::vector<int> graph = draw(pattern, n);
      const std::vector<int> want = by_fixed_point(graph, n);
      solve(graph, n, 3);
      EXPECT_EQ(graph, want) << "pattern " << static_cast<int>(pattern) << ", n = " << n;
    }
  }
}

TEST(ApspOracle, keeps_directions_and_missing_paths) {
  const int none = kInfinity;
  std::vector<int> graph{0, 7, none, none, 0, 5, none, none, 0};
  solve(graph, 3);
  EXPECT_EQ(graph, (std::vector<int>{0, 7, 12, none, 0, 5, none, none, 0}));
}

TEST(ApspInputs, are_valid_and_the_heavy_ring_uses_the_range) {
  for (const Pattern pattern : kPatterns) EXPECT_NO_THROW(require_valid(draw(pattern, 77), 77));
  std::vector<int> graph = draw(Pattern::kHeavy, 50);
  solve(graph, 50);
  EXPECT_EQ(*std::max_element(graph.begin(), graph.end()), 49 * kMaxWeight);
}

TEST(ApspInputs, refuse_weights_whose_path_could_reach_infinity) {
  EXPECT_NO_THROW(require_range(10000, 100000));
  EXPECT_NO_THROW(require_range(2, kInfinity - 1));
  EXPECT_THROW(require_range(2, kInfinity), std::invalid_argument);
  try {
    require_range(10739, 100000);
    FAIL() << "10738 * 100000 is not below 2^30 - 1";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("10738 * 100000"), std::string::npos) << error.what();
  }
}

TEST(ApspInputs, refuse_negative_weights_and_a_diagonal_that_is_not_zero) {
  EXPECT_THROW(require_valid(std::vector<int>{0, -1, 3, 0}, 2), std::invalid_argument);
  EXPECT_THROW(require_valid(std::vector<int>{4, 1, 3, 0}, 2), std::invalid_argument);
}

}  // namespace
}  // namespace warpgrade::apsp
