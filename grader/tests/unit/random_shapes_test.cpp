// What a random shape is expected to take, by the case that is most like it.
#include "cli/random_shapes.h"

#include <gtest/gtest.h>

namespace warpgrade {
namespace {

Case drawn(const std::string& id, int n) {
  Case drawn;
  drawn.id = drawn.dataset = id;
  drawn.drawn = true;
  drawn.parameters["n"] = declaration::Value::of(n);
  return drawn;
}

Case of_graph(const std::string& id, const std::string& graph, int k) {
  Case found;
  found.id = id;
  found.dataset = graph;
  found.width = k;
  return found;
}

TEST(RandomShapes, take_as_long_as_the_case_of_about_their_size_and_more_where_they_are_larger) {
  const std::vector<Case> cases{drawn("small", 10), drawn("large", 100)};
  const std::map<std::string, double> wall_s{{"small", 0.1}, {"large", 1.0}};
  const auto expected = [&](int n) { return expected_seconds(drawn("shape-1", n), cases, wall_s); };
  EXPECT_DOUBLE_EQ(expected(300), 3);
  EXPECT_DOUBLE_EQ(expected(50), 1);
  EXPECT_DOUBLE_EQ(expected(12), 0.12);
  EXPECT_DOUBLE_EQ(expected(1), 0.1);
}

TEST(RandomShapes, of_a_graph_take_what_its_own_cases_take) {
  const std::vector<Case> cases{of_graph("cora-k64", "cora", 64), of_graph("hub-k32", "hub", 32)};
  const std::map<std::string, double> wall_s{{"cora-k64", 0.2}, {"hub-k32", 5}};
  EXPECT_DOUBLE_EQ(expected_seconds(of_graph("shape-1", "hub", 64), cases, wall_s), 10);
  EXPECT_DOUBLE_EQ(expected_seconds(of_graph("shape-2", "cora", 96), cases, wall_s), 0.3);
}

}  // namespace
}  // namespace warpgrade
