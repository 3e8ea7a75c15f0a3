// Lab spmm: C = A * B, see reference/include/warpgrade/spmm.h.
#pragma once

#include <vector>

#include "labs/lab.h"

namespace warpgrade::spmm {

std::vector<CaseSpec> spmm_cases();

// Judges one case on either backend; see grader/labs/spmm/README.md for the order of things.
nlohmann::json judge_spmm(const JudgeContext& context, const CaseInput& input);

}  // namespace warpgrade::spmm
