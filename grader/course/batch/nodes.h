// Which nodes of a cluster judged a class, by the sessions that tasks noted (judging.json).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "course/record/run_folder.h"

namespace warpgrade {

// The node of the submission's last session that judged something; empty: no task of a cluster did.
std::string judging_node(const RunFolder& folder, const std::string& submission);

// [{node, device, gpus, submissions}] by name, of a run on a cluster; of others empty. `gpus`: UUIDs.
nlohmann::json judging_nodes(const RunFolder& folder, const nlohmann::json& run);

// What the nodes' tests say (node_tests.h), a line each: who is left out and why, whom it judged before.
// `nodes`: of judging_nodes. Empty: no node was tested.
std::string node_tests_text(const RunFolder& folder, const nlohmann::json& nodes);

// "thresholds were decided by times of n1 (24), n2 (12)", a line, of scores.json; empty: by none of
// a cluster.
std::string threshold_nodes_text(const nlohmann::json& scores);

// "judged on 2 nodes of the cluster: n1 (NVIDIA H100, 12 submissions), ...", a line; empty: on none.
std::string nodes_text(const nlohmann::json& nodes);

}  // namespace warpgrade
