// Points from records: a pure function. No clock, no device, no file.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "course/score/policy.h"

namespace warpgrade {

// `run` is a warpgrade.run.v1 object, `records` its warpgrade.case.v1 objects; the result is
// warpgrade.scores.v1.
nlohmann::json score(const Policy& policy, const nlohmann::json& run,
                     const std::vector<nlohmann::json>& records);

}  // namespace warpgrade
