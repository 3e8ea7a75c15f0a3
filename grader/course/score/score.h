// Points from records: a pure function. No clock, no device, no file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "course/score/policy.h"

namespace warpgrade {

// `run` is a warpgrade.run.v1 object, `records` its warpgrade.case.v1 objects; the result is
// warpgrade.scores.v1.
nlohmann::json score(const Policy& policy, const nlohmann::json& run,
                     const std::vector<nlohmann::json>& records);

// That an accepted case's outputs are the host's work, in words for its student; empty: a kernel wrote them,
// or nobody knows (older records, `grade --direct`).
std::string writers_note(const nlohmann::json& record);

}  // namespace warpgrade
