// Lab apsp: shortest paths between all pairs, in place, see reference/include/warpgrade/apsp.h.
#pragma once

#include <optional>

#include "apsp/inputs.h"
#include "judge/judging/lab.h"

namespace warpgrade::apsp {

struct Shape {
  int n = 0;                       // of a real graph: its most nodes
  std::optional<Pattern> pattern;  // none: a real graph
};

Shape shape_of_case(const Case& spec);

// Judges one case on either backend; see grader/judge/labs/apsp/README.md for the order of things.
nlohmann::json judge_apsp(const JudgeContext& context, const Case& input);

}  // namespace warpgrade::apsp
