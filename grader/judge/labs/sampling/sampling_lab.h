// Lab sampling: neighbours drawn with replacement, see reference/include/warpgrade/sampling.h.
#pragma once

#include "judge/judging/lab.h"

namespace warpgrade::sampling {

// How many nodes a case draws for; 0: every node once, in order. CaseSpec::k is the fan-out.
int nodes_of_case(const CaseSpec& spec);

// Judges one case on either backend; see grader/judge/labs/sampling/README.md for the order of things.
nlohmann::json judge_sampling(const JudgeContext& context, const CaseInput& input);

}  // namespace warpgrade::sampling
