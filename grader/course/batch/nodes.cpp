#include "course/batch/nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <vector>

#include "base/files.h"
#include "course/batch/node_tests.h"
#include "course/record/superseded.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// The last session of a cluster's task that judged something: the others left no record.
json last_session(const RunFolder& folder, const std::string& submission) {
  const fs::path file = folder.submission_folder(submission) / "judging.json";
  if (!fs::exists(file)) return {};
  const json judging = json::parse(read_text(file), nullptr, false);
  const auto sessions = judging.is_object() ? judging.find("sessions") : judging.end();
  if (sessions == judging.end() || !sessions->is_array()) return {};
  for (auto session = sessions->rbegin(); session != sessions->rend(); ++session)
    if (session->is_object() && session->contains("job") && session->value("cases", 1) > 0) return *session;
  return {};
}

// Whose records of a node that is left out were moved aside (Rounds::judge_again_elsewhere).
std::vector<std::string> judged_again(const RunFolder& folder, const std::string& node) {
  std::set<std::string> submissions;
  for (int number = latest_superseded(folder); number > 0; --number) {
    const fs::path place = superseded_folder(folder, number);
    if (!fs::exists(place / "request.json")) continue;
    const json request = json::parse(read_text(place / "request.json"), nullptr, false);
    if (!request.is_object() || request.value("node", "") != node) continue;
    for (const auto& entry : fs::directory_iterator(place))
      if (entry.is_directory()) submissions.insert(entry.path().filename().string());
  }
  return {submissions.begin(), submissions.end()};
}

struct Share {
  std::set<std::string> devices, gpus;
  std::vector<std::string> submissions;
};

}  // namespace

std::string judging_node(const RunFolder& folder, const std::string& submission) {
  const json session = last_session(folder, submission);
  return session.is_object() ? session.value("node", "") : "";
}

json judging_nodes(const RunFolder& folder, const json& run) {
  std::map<std::string, Share> shares;
  for (const json& submission : run.at("submissions")) {
    const std::string id = submission.at("id");
    const json session = last_session(folder, id);
    if (!session.is_object()) continue;
    Share& share = shares[session.value("node", "unknown")];
    share.submissions.push_back(id);
    if (const std::string name = session.value("device", ""); !name.empty()) share.devices.insert(name);
    if (const std::string uuid = session.value("device_uuid", ""); !uuid.empty()) share.gpus.insert(uuid);
  }
  json nodes = json::array();
  for (const auto& [node, share] : shares)
    nodes.push_back({{"node", node},
                     {"device", fmt::format("{}", fmt::join(share.devices, ", "))},
                     {"gpus", share.gpus},
                     {"submissions", share.submissions}});
  return nodes;
}

std::string nodes_text(const json& nodes) {
  if (nodes.empty()) return {};
  std::vector<std::string> words;
  for (const json& node : nodes) {
    const std::string device = node.at("device");
    const std::size_t count = node.at("submissions").size();
    words.push_back(fmt::format("{} ({}{}{} submission{})", node.at("node").get<std::string>(), device,
                                device.empty() ? "" : ", ", count, count == 1 ? "" : "s"));
  }
  return fmt::format("judged on {} of the cluster: {}\n",
                     nodes.size() == 1 ? "one node" : fmt::format("{} nodes", nodes.size()),
                     fmt::join(words, ", "));
}

std::string node_tests_text(const RunFolder& folder, const json& nodes) {
  const std::vector<NodeTest> tests = read_node_tests(folder);
  if (tests.empty()) return {};
  std::set<std::string> tested, names;
  for (const NodeTest& test : tests) (test.problem.empty() ? tested : names).insert(test.node);
  std::string text;
  for (const std::string& name : names) text += fmt::format("{} could not be tested\n", name);
  if (tested.size() == 1)
    text += fmt::format(
        "{} alone was tested: no other node's figure is there to compare, so a program against itself "
        "decides\n",
        *tested.begin());
  const std::vector<LeftOutNode> left = nodes_left_out(tests);
  if (tested.size() > 1)
    text += fmt::format("{} nodes were tested, {} left out\n", tested.size(),
                        left.empty() ? "none" : std::to_string(left.size()));
  for (const LeftOutNode& out : left) {
    text += fmt::format("left out: {}: {}\n", out.node, out.why);
    if (const std::vector<std::string> again = judged_again(folder, out.node); !again.empty())
      text += fmt::format("  what it had judged was judged again elsewhere: {}\n", fmt::join(again, ", "));
    for (const json& node : nodes)
      if (node.at("node") == out.node)
        text += fmt::format("  it judged {}; `warpgrade regrade {} --only {}` judges them elsewhere\n",
                            fmt::join(node.at("submissions").get<std::vector<std::string>>(), ", "),
                            folder.root().string(),
                            fmt::join(node.at("submissions").get<std::vector<std::string>>(), ","));
  }
  return text;
}

std::string threshold_nodes_text(const json& scores) {
  const std::string nodes = scores.value("threshold_nodes", "");
  return nodes.empty() ? "" : fmt::format("thresholds were decided by times of {}\n", nodes);
}

}  // namespace warpgrade
