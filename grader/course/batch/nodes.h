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

// "judged on 2 nodes of the cluster: n1 (NVIDIA H100, 12 submissions), ...", a line; empty: on none.
std::string nodes_text(const nlohmann::json& nodes);

}  // namespace warpgrade
