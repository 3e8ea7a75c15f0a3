// A wrong answer on the emulator without a finding that explains it: the case runs again with every check and
// with the warps of each block in other orders, until a finding does.
//
// What is found changes no verdict. It stands first in the record's diagnostics, with "schedule", and first
// in the message; "cause_search" in the record says what was tried and how long it took.
#pragma once

#include <nlohmann/json.hpp>

#include "judge/judging/lab.h"

namespace warpgrade {

// `record` as the lab's judge returned it for this case. Faults of the judge in the runs that look for the
// cause end the search alone. Throws Interrupted.
void look_for_cause(const Lab& lab, const JudgeContext& context, const Case& input, nlohmann::json& record);

// The first finding of `again` that explains a wrong answer and that `known` does not hold; null without one.
nlohmann::json new_explanation(const nlohmann::json& known, const nlohmann::json& again);

}  // namespace warpgrade
