// Lab sampling: neighbours drawn with replacement, see reference/include/warpgrade/sampling.h.
#pragma once

#include <vector>

#include "labs/lab.h"

namespace warpgrade::sampling {

std::vector<CaseSpec> sampling_cases();  // k is the fan-out
// How many nodes a case draws for; 0: every node once, in order.
int nodes_of_case(const std::string& id);

// Judges one case on either backend; see grader/labs/sampling/README.md for the order of things.
nlohmann::json judge_sampling(const JudgeContext& context, const CaseInput& input);

}  // namespace warpgrade::sampling
