// Which nodes a round judges on: those that failed, and those whose tests differ from the others', are
// left out.
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "course/batch/node_tests.h"
#include "course/record/superseded.h"
#include "course/slurm/rounds.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::set<std::string> names_in(const json& planned, const char* key) {
  return planned.value(key, std::set<std::string>());
}

std::set<std::string> left_out_by_tests(const RunFolder& folder) {
  std::set<std::string> nodes;
  for (const LeftOutNode& left : nodes_left_out(read_node_tests(folder))) nodes.insert(left.node);
  return nodes;
}

}  // namespace

// Nodes whose GPU did not answer, or was of another model.
std::vector<std::string> Rounds::bad_nodes() const {
  std::set<std::string> nodes;
  for (const json& event : read_events(folder_)) {
    const std::string what = event.value("event", "");
    if ((what == "gpu_wedged" || what == "wrong_gpu") && event.contains("node"))
      nodes.insert(event["node"].get<std::string>());
  }
  return {nodes.begin(), nodes.end()};
}

// Whether Slurm would take the judges' tasks with the nodes that `planned` excludes.
bool Rounds::can_do_without(const json& planned) {
  const TemporaryDirectory scratch("warpgrade-nodes");
  const fs::path script = scratch.path() / "judge.sh";
  write_text(script, script_text("judge"));
  return cluster_.test(task_of("judge", planned).sbatch_options(), {script.string()}).taken;
}

// `exclude`: nodes that judge nothing in this round. `admit`: those that would, were there others: without
// any node the class would stay without verdicts, and one that failed may have been mended since.
void Rounds::choose_nodes(json& planned) {
  using Nodes = std::set<std::string>;
  const std::vector<std::string> events = bad_nodes();
  const Nodes failed(events.begin(), events.end());
  Nodes all = left_out_by_tests(folder_), admitted;
  if (const std::string named = planned.value("same_node", ""); all.erase(named) > 0) admitted.insert(named);
  all.insert(failed.begin(), failed.end());
  const std::vector<Nodes> choices{all, failed, {}};
  const auto chosen = std::find_if(choices.begin(), choices.end(), [&](const Nodes& excluded) {
    planned["exclude"] = excluded;
    return all.empty() || can_do_without(planned);
  });
  // Where Slurm takes none of them, it says why when the round is submitted.
  const Nodes excluded = chosen == choices.end() ? all : *chosen;
  std::set_difference(all.begin(), all.end(), excluded.begin(), excluded.end(),
                      std::inserter(admitted, admitted.end()));
  planned["exclude"] = excluded;
  planned["admit"] = admitted;
}

bool Rounds::admits(int round, const std::string& node) const {
  return names_in(plan_file(round), "admit").contains(node);
}

void Rounds::keep_array_off_bad_nodes(int round, const OwnTask& own) {
  try {
    json planned = plan_file(round);
    choose_nodes(planned);
    if (!planned["exclude"].empty() && can_do_without(planned))
      keep_array_off(own, task_of("judge", planned).exclude);
  } catch (
      const UsageError&) {  // Slurm does not answer here, or is not in the container: the next round knows
  }
}

// How many rounds the one behind this one has more than the site says: one for each round in which a node was
// found to be bad. Its tasks judged little through no fault of theirs, and nodes are not without end.
int Rounds::more_rounds(int round) const {
  std::set<std::string> known;
  for (int earlier = 1; earlier <= round; ++earlier) {
    const json planned = plan_file(earlier);
    known.merge(names_in(planned, "exclude"));
    known.merge(names_in(planned, "admit"));
  }
  std::set<std::string> now = left_out_by_tests(folder_);
  for (const std::string& node : bad_nodes()) now.insert(node);
  const bool is_new = !std::includes(known.begin(), known.end(), now.begin(), now.end());
  return plan_file(round).value("more_rounds", 0) + (is_new ? 1 : 0);
}

// Of nodes that no task was on any more when the others' figures came.
void Rounds::log_left_out_nodes(int round) {
  std::set<std::string> told;
  for (const json& event : read_events(folder_))
    if (event.value("event", "") == "node_left_out") told.insert(event.value("node", ""));
  for (const LeftOutNode& left : nodes_left_out(read_node_tests(folder_)))
    if (!told.contains(left.node))
      events_.infrastructure("node_left_out", left.why, {{"node", left.node}, {"round", round}});
}

// What such a node judged before its tests were compared: a class is judged by nodes that measure alike.
// Where Slurm has no other node, or --same-node names this one, its records stay.
void Rounds::judge_again_elsewhere(int round) {
  const std::set<std::string> left = left_out_by_tests(folder_);
  if (left.empty()) return;
  json planned = plan_file(round);
  choose_nodes(planned);
  const std::set<std::string> avoided = names_in(planned, "exclude");
  std::map<std::string, std::map<std::string, int>> counts;  // by node, submission
  std::map<std::string, int> places;                         // under superseded/, by node
  for (const Record& record : folder_.read_records({"submission/id", "case/id", "node"})) {
    const std::string &node = record.node, &id = record.submission.id;
    if (!left.contains(node) || !avoided.contains(node)) continue;
    if (!places.contains(node)) places[node] = begin_superseded(folder_, {{"node", node}, {"round", round}});
    supersede(folder_, places[node], id, record.test_case.id);
    ++counts[node][id];
  }
  for (const auto& [node, submissions] : counts)
    for (const auto& [id, count] : submissions)
      events_.for_staff("judged_again",
                        fmt::format("{} records of {}, which its tests leave out, are made again elsewhere; "
                                    "the old ones are kept in superseded/{}",
                                    count, node, places[node]),
                        {{"submission", id}, {"node", node}, {"round", round}});
}

// The node that --same-node named, for as long as the site does not exclude it. What the site says of nodes
// otherwise (`nodelist`) is meant for whatever is judged anywhere.
std::string Rounds::pinned_node(int round, int chain_begin) {
  if (round == chain_begin) return same_node_;
  const std::string node = plan_file(round - 1).value("same_node", "");
  if (node.empty() || !names_node(site_.judge.exclude, node)) return node;
  events_.for_staff(
      "pin_dropped",
      fmt::format(
          "{}: judge: exclude: {} names {}, where --same-node judged; this round judges on any other node",
          site_.file, site_.judge.exclude, node),
      {{"node", node}, {"round", round}});
  return {};
}

}  // namespace warpgrade
