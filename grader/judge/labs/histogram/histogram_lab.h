// Lab histogram: ids counted in bins of 40, see reference/include/warpgrade/histogram.h.
#pragma once

#include "histogram/inputs.h"
#include "judge/judging/lab.h"

namespace warpgrade::histogram {

struct Shape {
  Pattern pattern = Pattern::kUniform;
  int count = 0, nodes = 1;
};

Shape shape_of_case(const Case& spec);

// Judges one case on either backend; see grader/judge/labs/histogram/README.md for the order of things.
nlohmann::json judge_histogram(const JudgeContext& context, const Case& input);

}  // namespace warpgrade::histogram
