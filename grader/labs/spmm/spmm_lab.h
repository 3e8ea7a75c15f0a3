// Lab spmm: C = A * B, see reference/include/warpgrade/spmm.h.
#pragma once

#include "labs/lab.h"

namespace warpgrade::spmm {

// Of the matrix under other names: rows and columns in an order that the run's hidden seed decides.
bool is_variant(const CaseSpec& spec);

// Judges one case on either backend; see grader/labs/spmm/README.md for the order of things.
nlohmann::json judge_spmm(const JudgeContext& context, const CaseInput& input);

}  // namespace warpgrade::spmm
