// What the nodes of a cluster measured before they judged, and which of them differ from the others.
// Measuring: node_measuring.h; README.md here has the rule with its reasons.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "course/record/run_folder.h"
#include "judge/measure/interval.h"

namespace warpgrade {

// A program against itself, and what it moves: of one device of a node (schema warpgrade.node.v1).
struct NodeTest {
  std::string node, device;  // the device's UUID; empty on the emulator
  std::string backend;       // "cuda" or "emulator"
  Interval self;             // of the ratio of equal programs; 1 is expected
  Interval bytes_per_s;
  int tries = 1;        // how often the program was timed against itself; the last one counts
  std::string problem;  // why nothing was measured; the figures mean nothing then
  nlohmann::json facts = nlohmann::json::object();  // of the record, for people: job, device, clocks, seconds

  nlohmann::json to_json() const;
  static NodeTest from_json(const nlohmann::json& kept);  // throws nlohmann::json::exception
};

// RUN/nodes/<node>.json, on a GPU RUN/nodes/<node>-<uuid>.json.
std::filesystem::path node_test_file(const RunFolder& folder, const std::string& node,
                                     const std::string& device);
// All of them, by file name; what cannot be read is left out.
std::vector<NodeTest> read_node_tests(const RunFolder& folder);

struct LeftOutNode {
  std::string node, why;
};

// Which nodes are to judge nothing more, by name. A node is as good as the worst of its devices.
std::vector<LeftOutNode> nodes_left_out(const std::vector<NodeTest>& tests);
// Why that node is among them.
std::optional<std::string> why_left_out(const std::vector<NodeTest>& tests, const std::string& node);

}  // namespace warpgrade
