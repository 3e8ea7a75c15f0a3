#include "course/batch/node_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/files.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kSchema = "warpgrade.node.v1";

// By which factor a figure may differ from the others' middle. 5 % is what thresholds are rounded to
// (calibrate.cpp). On the emulator nothing is timed, and other jobs share the cores; a node of half the speed
// is one on which limits of time mean something else.
constexpr double kDeviceFactor = 1.05, kEmulatorFactor = 2;

json interval_json(const Interval& interval) {
  return {{"middle", interval.middle},
          {"low", interval.low},
          {"high", interval.high},
          {"confidence", interval.confidence}};
}

Interval interval_from(const json& kept) {
  return {kept.at("middle"), kept.at("low"), kept.at("high"), kept.at("confidence")};
}

bool holds_one(const Interval& interval) {
  return interval.low <= 1 && 1 <= interval.high;
}

// What a file's name may hold of a node's name or a UUID.
std::string file_part(std::string text) {
  for (char& c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_' && c != '-') c = '_';
  return text;
}

// A node's figure, as a logarithm: the least of its devices.
struct Figure {
  std::string node;
  double log = 0;
  bool emulated = false;
};

std::vector<Figure> figures_of(const std::vector<NodeTest>& tests, const std::set<std::string>& without) {
  std::vector<Figure> figures;
  for (const NodeTest& test : tests) {
    if (!test.problem.empty() || without.contains(test.node) || !(test.bytes_per_s.middle > 0)) continue;
    const double log = std::log(test.bytes_per_s.middle);
    const auto known = std::find_if(figures.begin(), figures.end(),
                                    [&](const Figure& figure) { return figure.node == test.node; });
    if (known == figures.end())
      figures.push_back({test.node, log, test.backend != "cuda"});
    else
      known->log = std::min(known->log, log);
  }
  return figures;
}

// Where the others' middle lies, with the tolerance: between the two middle ones where their number is even.
struct Range {
  double low = 0, high = 0;
};

Range range_of_others(const std::vector<Figure>& figures, std::size_t but) {
  std::vector<double> others;
  for (std::size_t i = 0; i < figures.size(); ++i)
    if (i != but) others.push_back(figures[i].log);
  std::sort(others.begin(), others.end());
  const double tolerance = std::log(figures[but].emulated ? kEmulatorFactor : kDeviceFactor);
  return {others[(others.size() - 1) / 2] - tolerance, others[others.size() / 2] + tolerance};
}

double distance(double value, const Range& range) {
  return std::max({0.0, range.low - value, value - range.high});
}

constexpr double kGigabyte = 1e9;

std::string why_figure(const Figure& figure, const Range& range) {
  return fmt::format(
      "the staff's program moves {:.3g} GB/s here; the other nodes' figures allow {:.3g} to {:.3g} GB/s",
      std::exp(figure.log) / kGigabyte, std::exp(range.low) / kGigabyte, std::exp(range.high) / kGigabyte);
}

// The node that lies farthest outside of the others' range; of two that are equally far, as any two alone
// are, the slower one: what disturbs a node makes it slower. None: all are inside, or there is one alone.
std::optional<LeftOutNode> farthest(const std::vector<Figure>& figures) {
  constexpr double kSame = 1e-9;
  if (figures.size() < 2) return std::nullopt;
  std::size_t worst = 0;
  double most = 0;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const double far = distance(figures[i].log, range_of_others(figures, i));
    if (far <= 0) continue;
    const bool is_slower = std::abs(far - most) < kSame && figures[i].log < figures[worst].log;
    if (most > 0 && far < most + kSame && !is_slower) continue;
    worst = i;
    most = far;
  }
  if (most <= 0) return std::nullopt;
  return LeftOutNode{figures[worst].node, why_figure(figures[worst], range_of_others(figures, worst))};
}

}  // namespace

json NodeTest::to_json() const {
  json kept = facts;
  kept.update({{"schema", kSchema}, {"node", node}, {"backend", backend}, {"tries", tries}});
  if (!device.empty()) kept["device_uuid"] = device;
  if (!problem.empty()) {
    kept["problem"] = problem;
    return kept;
  }
  kept["self"] = interval_json(self);
  kept["bytes_per_s"] = interval_json(bytes_per_s);
  return kept;
}

NodeTest NodeTest::from_json(const json& kept) {
  NodeTest test;
  test.node = kept.at("node");
  test.backend = kept.at("backend");
  test.device = kept.value("device_uuid", "");
  test.tries = kept.value("tries", 1);
  test.problem = kept.value("problem", "");
  if (test.problem.empty()) {
    test.self = interval_from(kept.at("self"));
    test.bytes_per_s = interval_from(kept.at("bytes_per_s"));
  }
  test.facts = kept;
  return test;
}

fs::path node_test_file(const RunFolder& folder, const std::string& node, const std::string& device) {
  return folder.root() / "nodes" /
         fmt::format("{}{}{}.json", file_part(node), device.empty() ? "" : "-", file_part(device));
}

std::vector<NodeTest> read_node_tests(const RunFolder& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder.root() / "nodes", error))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<NodeTest> tests;
  for (const fs::path& file : files) {
    try {
      tests.push_back(NodeTest::from_json(json::parse(read_text(file))));
    } catch (const std::exception&) {  // removed meanwhile, or a person's
    }
  }
  return tests;
}

std::vector<LeftOutNode> nodes_left_out(const std::vector<NodeTest>& tests) {
  std::vector<LeftOutNode> left;
  std::set<std::string> names;
  for (const NodeTest& test : tests) {
    if (!test.problem.empty() || holds_one(test.self) || !names.insert(test.node).second) continue;
    left.push_back({test.node, fmt::format("a program is {:.3f} ({:.3f} to {:.3f}) times as fast as itself "
                                           "here, and 1 is not among these",
                                           test.self.middle, test.self.low, test.self.high)});
  }
  while (const auto next = farthest(figures_of(tests, names))) {
    names.insert(next->node);
    left.push_back(*next);
  }
  std::sort(left.begin(), left.end(), [](const auto& a, const auto& b) { return a.node < b.node; });
  return left;
}

std::optional<std::string> why_left_out(const std::vector<NodeTest>& tests, const std::string& node) {
  for (const LeftOutNode& left : nodes_left_out(tests))
    if (left.node == node) return left.why;
  return std::nullopt;
}

}  // namespace warpgrade
