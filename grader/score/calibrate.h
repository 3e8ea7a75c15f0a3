// Proposes thresholds from a run of the staff's ladder on one GPU model.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace warpgrade {

// For each dataset and K: the best of the ladder's steps (submissions whose id starts with "step-"), times
// `share`, rounded down to 0.05. What the staff's steps reach with a margin, a student who climbs the ladder
// reaches. Returns the `thresholds` part of a policy as YAML text, with where it comes from in a comment.
// Throws UsageError when no step was timed.
std::string propose_thresholds(const nlohmann::json& run, const std::vector<nlohmann::json>& records,
                               const std::string& baseline, double share = 0.9);

}  // namespace warpgrade
