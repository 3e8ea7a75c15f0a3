// Proposes thresholds from a run of the staff's ladder on one GPU model.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "record/record.h"
#include "record/view.h"

namespace warpgrade {

// For each dataset and width (K, n, fan-out ...): the best of the ladder's steps (submissions whose id starts
// with "step-"), times `share`, rounded down to 0.05 (never below it). What the staff's steps reach with a
// margin, a student who climbs the ladder reaches. `ratios_key`: the policy's own, so that times are those by
// which it scores. Returns the `thresholds` part of a policy as YAML text,
// with where it comes from in a comment. Throws UsageError that names the baselines there are when no step
// was timed beside `baseline`.
std::string propose_thresholds(const Run& run, const std::vector<Record>& records,
                               const std::string& baseline, const std::string& ratios_key,
                               double share = 0.9);

// The same of the best step's share of the limit (limit.h): the part `limit` of `thresholds`, rounded down to
// 0.01. Throws UsageError where no step was timed on a GPU of known rates.
std::string propose_limit_thresholds(const Run& run, const std::vector<Record>& records, double share = 0.9);

// The policy's text with these in `thresholds`, whose speed-ups become its part `baseline`.
std::string with_limit_thresholds(const std::string& policy, const std::string& proposed);

// The policy's text with `proposed` (what propose_thresholds returns) in the place of the model's own: under
// `thresholds_by_gpu`, or as `thresholds` where `measured_on` names the model. All else stays as it stands.
std::string with_thresholds(const std::string& policy, const std::string& model, const std::string& proposed);

}  // namespace warpgrade
