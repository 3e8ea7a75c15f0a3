// Lab spmm: C = A * B, see reference/include/warpgrade/spmm.h.
#pragma once

#include "judge/judging/lab.h"

namespace warpgrade::spmm {

// Of the matrix under other names: rows and columns in an order that the run's hidden seed decides.
bool is_variant(const Case& spec);

// Judges one case on either backend; see grader/judge/labs/spmm/README.md for the order of things.
nlohmann::json judge_spmm(const JudgeContext& context, const Case& input);

}  // namespace warpgrade::spmm
