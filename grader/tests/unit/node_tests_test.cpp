// Which nodes of a cluster judge nothing more, by what they measured before.
#include "course/batch/node_tests.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "course/batch/nodes.h"

namespace warpgrade {
namespace {

using nlohmann::json;
using Names = std::vector<std::string>;

NodeTest measured(const std::string& node, double gigabytes, const std::string& backend = "cuda") {
  NodeTest test;
  test.node = node;
  test.backend = backend;
  test.self = {1.0, 0.99, 1.01, 0.95};
  test.bytes_per_s = {1e9 * gigabytes, 0.99e9 * gigabytes, 1.01e9 * gigabytes, 0.95};
  return test;
}

Names left_out(const std::vector<NodeTest>& tests) {
  Names names;
  for (const LeftOutNode& left : nodes_left_out(tests)) names.push_back(left.node);
  return names;
}

TEST(NodeTests, OneNodeAloneIsComparedWithNone) {
  EXPECT_EQ(left_out({measured("n1", 1)}), Names());
  EXPECT_EQ(left_out({}), Names());
}

TEST(NodeTests, ANodeWhereAProgramIsNotAsFastAsItselfIsLeftOutAlsoAlone) {
  NodeTest odd = measured("n1", 3000);
  odd.self = {1.04, 1.01, 1.07, 0.95};
  EXPECT_EQ(left_out({odd}), Names{"n1"});
  EXPECT_EQ(left_out({odd, measured("n2", 3000), measured("n3", 3000)}), Names{"n1"});
  EXPECT_NE(nodes_left_out({odd})[0].why.find("1.040 (1.010 to 1.070)"), std::string::npos);
}

TEST(NodeTests, TheNodeFarFromTheOthersMiddleIsLeftOutSlowOrFast) {
  EXPECT_EQ(left_out({measured("n1", 3000), measured("n2", 2700), measured("n3", 3010)}), Names{"n2"});
  EXPECT_EQ(left_out({measured("n1", 3000), measured("n2", 3400), measured("n3", 3010)}), Names{"n2"});
  EXPECT_EQ(left_out({measured("n1", 3000), measured("n2", 2900), measured("n3", 3010)}), Names()) << "3 %";
}

TEST(NodeTests, OfTwoThatDifferTheSlowerOneIsLeftOut) {
  EXPECT_EQ(left_out({measured("n1", 3000), measured("n2", 2000)}), Names{"n2"});
  EXPECT_EQ(left_out({measured("n1", 2000), measured("n2", 3000)}), Names{"n1"});
}

TEST(NodeTests, MostNodesDecideAndOfTwoEqualHalvesTheFasterOne) {
  std::vector<NodeTest> tests;
  for (const char* slow : {"n1", "n2", "n3"}) tests.push_back(measured(slow, 2000));
  for (const char* fast : {"n4", "n5"}) tests.push_back(measured(fast, 3000));
  EXPECT_EQ(left_out(tests), (Names{"n4", "n5"}));
  tests.erase(tests.begin());
  EXPECT_EQ(left_out(tests), (Names{"n2", "n3"}));
}

TEST(NodeTests, OneNodeStaysHoweverMuchAllDiffer) {
  std::vector<NodeTest> tests;
  for (int i = 0; i < 9; ++i) {
    tests.push_back(measured("n" + std::to_string(i), 100 << i));
    EXPECT_LT(left_out(tests).size(), tests.size());
  }
}

TEST(NodeTests, ANodeIsAsGoodAsItsWorstDevice) {
  NodeTest good = measured("n1", 3000), bad = measured("n1", 2000);
  good.device = "GPU-1";
  bad.device = "GPU-2";
  EXPECT_EQ(left_out({good, bad, measured("n2", 3000), measured("n3", 3000)}), Names{"n1"});
}

TEST(NodeTests, OnTheEmulatorANodeOfHalfTheSpeedIsLeftOut) {
  const auto on = [](double third) {
    return std::vector<NodeTest>{measured("n1", 1, "emulator"), measured("n2", 1.1, "emulator"),
                                 measured("n3", third, "emulator")};
  };
  EXPECT_EQ(left_out(on(0.6)), Names());
  EXPECT_EQ(left_out(on(0.4)), Names{"n3"});
}

TEST(NodeTests, ATestThatCameToNothingDecidesNothing) {
  NodeTest failed;
  failed.node = "n2";
  failed.backend = "cuda";
  failed.problem = "the staff's program does not compile";
  EXPECT_EQ(left_out({measured("n1", 3000), failed, measured("n3", 3000)}), Names());
}

TEST(NodeTests, AreKeptInTheRunsFolderAndTold) {
  const TemporaryDirectory scratch("node-tests");
  const RunFolder folder(scratch.path() / "run");
  const auto keep = [&](const NodeTest& test) {
    const auto file = node_test_file(folder, test.node, test.device);
    make_directories(file.parent_path());
    write_text(file, test.to_json().dump());
  };
  EXPECT_EQ(node_tests_text(folder, json::array()), "");
  NodeTest first = measured("gpu-07.cluster", 3000);
  first.device = "GPU-1/2";
  first.facts["clocks"] = {{"sm_mhz", 1980}};
  keep(first);
  EXPECT_TRUE(std::filesystem::exists(folder.root() / "nodes/gpu-07.cluster-GPU-1_2.json"));
  EXPECT_NE(node_tests_text(folder, json::array()).find("gpu-07.cluster alone was tested"),
            std::string::npos);
  keep(measured("n2", 2000));
  keep(measured("n3", 3000));
  write_text(folder.root() / "nodes/broken.json", "{\"node\": 3}");
  const auto tests = read_node_tests(folder);
  ASSERT_EQ(tests.size(), 3u);
  EXPECT_EQ(tests[0].device, "GPU-1/2");
  EXPECT_EQ(tests[0].facts.at("clocks").at("sm_mhz"), 1980);
  EXPECT_DOUBLE_EQ(tests[1].bytes_per_s.low, 0.99 * 2000e9);
  const json nodes{{{"node", "n2"}, {"submissions", {"ada", "bo"}}}};
  const std::string text = node_tests_text(folder, nodes);
  EXPECT_NE(text.find("3 nodes were tested, 1 left out\n"), std::string::npos) << text;
  EXPECT_NE(text.find("left out: n2: the staff's program moves 2e+03 GB/s here"), std::string::npos) << text;
  EXPECT_NE(text.find("it judged ada, bo; `warpgrade regrade"), std::string::npos) << text;
}

}  // namespace
}  // namespace warpgrade
