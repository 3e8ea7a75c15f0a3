// Two sets of grades beside each other.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "record/record.h"

namespace warpgrade {

// Submissions whose points, verdict or counting changes, a line each; "" when none does. Both
// are warpgrade.scores.v1.
std::string score_changes(const nlohmann::json& before, const nlohmann::json& after);

// Cases whose verdict differs, and ratios over the policy's baseline whose intervals do not touch; "" when
// nothing does. Records of two runs.
std::string record_changes(const std::vector<Record>& before, const std::vector<Record>& after);

}  // namespace warpgrade
