// Lab sampling: neighbours drawn with replacement, see reference/include/warpgrade/sampling.h.
#pragma once

#include "judge/judging/lab.h"

namespace warpgrade::sampling {

// How many nodes a case draws for; 0: every node once, in order. The width is the fan-out.
int nodes_of_case(const Case& spec);

// Judges one case on either backend; see grader/judge/labs/sampling/README.md for the order of things.
nlohmann::json judge_sampling(const JudgeContext& context, const Case& input);

}  // namespace warpgrade::sampling
