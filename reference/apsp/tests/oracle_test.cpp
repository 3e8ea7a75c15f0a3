#include "apsp/oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "apsp/inputs.h"

namespace warpgrade::apsp {
namespace {

constexpr Pattern kPatterns[] = {Pattern::kComplete,    Pattern::kSparse, Pattern::kIslands,
                                 Pattern::kZeroWeights, Pattern::kOneWay, Pattern::kRing,
                                 Pattern::kHeavy,       Pattern::kLight,  Pattern::kOlder};

std::vector<int> draw(Pattern pattern, int n, std::uint64_t seed = 5) {
  const DrawnGraph drawn = drawn_graph(pattern, seed, n);
  std::vector<int> graph(static_cast<std::size_t>(n) * n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) graph[static_cast<std::size_t>(i) * n + j] = edge_at(drawn, i, j);
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

TEST(ApspInputs, keep_weights_of_complete_graphs_in_their_range) {
  for (const auto& [pattern, least, most] : {std::tuple{Pattern::kComplete, 1, kMaxWeight},
                                             {Pattern::kLight, 1, kMaxLightWeight},
                                             {Pattern::kOlder, 0, kMaxOlderWeight}}) {
    for (const int n : {2, 3, 7, 8, 31, 161}) {
      const std::vector<int> graph = draw(pattern, n, n);
      for (int cell = 0; cell < n * n; ++cell) {
        if (cell / n == cell % n) continue;
        EXPECT_GE(graph[cell], least);
        EXPECT_LE(graph[cell], most);
      }
    }
  }
}

TEST(ApspLightEdges, give_every_node_a_place_of_its_own) {
  for (const int n : {1, 2, 3, 4, 5, 8, 31, 100, 161, 1000, 10000}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const LightEdges light = place_light_edges(seed, n);
      std::vector<int> taken(n);
      for (int node = 0; node < n; ++node) ++taken.at(light.place(node));
      EXPECT_EQ(std::count(taken.begin(), taken.end(), 1), n) << "n = " << n << ", seed " << seed;
    }
  }
}

TEST(ApspLightEdges, make_a_path_that_is_shorter_than_a_heavy_edge_for_every_n_of_the_lab) {
  constexpr unsigned kAllOnes = 0xFFFFFFFFu;
  for (const auto& [least, most] : {std::pair{1, kMaxWeight}, {1, kMaxLightWeight}, {0, kMaxOlderWeight}}) {
    const int heaviest_light = weight_of(EdgeKind::kLight, least, most, kAllOnes);
    const int lightest_heavy = weight_of(EdgeKind::kHeavy, least, most, kAllOnes);
    EXPECT_LT(kInfinity / kMaxWeight / 4 * heaviest_light, lightest_heavy) << most;
  }
}

// Cells [row, row_end) x [col, col_end) by one min-plus product over the nodes of a tile: of paths inside the
// tile, those of two pieces alone are found.
void multiply(std::vector<int>& graph, int n, int row, int row_end, int col, int col_end, int via,
              int via_end) {
  const std::vector<int> before = graph;
  for (int i = row; i < row_end; ++i)
    for (int j = col; j < col_end; ++j)
      for (int k = via; k < via_end; ++k)
        graph[i * n + j] = std::min(graph[i * n + j], before[i * n + k] + before[k * n + j]);
}

// Rounds of three phases, none of them step by step. Each phase includes the tiles of those before, so that
// the tile on the diagonal gets three products.
void solve_by_products(std::vector<int>& graph, int n, int tile) {
  for (int first = 0; first < n; first += tile) {
    const int end = std::min(first + tile, n);
    multiply(graph, n, first, end, first, end, first, end);
    multiply(graph, n, first, end, 0, n, first, end);
    multiply(graph, n, 0, n, first, end, first, end);
    multiply(graph, n, 0, n, 0, n, first, end);
  }
}

TEST(ApspLightEdges, show_in_each_of_50_graphs_that_tiles_were_not_relaxed_step_by_step) {
  for (const Pattern pattern : {Pattern::kComplete, Pattern::kOlder}) {
    for (const auto& [n, tile] : {std::pair{100, 32}, {100, 16}, {128, 64}}) {
      for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        std::vector<int> graph = draw(pattern, n, seed), got = graph;
        solve(graph, n);
        solve_by_products(got, n, tile);
        EXPECT_NE(got, graph) << "pattern " << static_cast<int>(pattern) << ", n = " << n << ", tile of "
                              << tile << ", seed " << seed;
      }
    }
  }
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
