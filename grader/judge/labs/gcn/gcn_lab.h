// Lab gcn: one layer of a graph convolutional network in fp64, see reference/include/warpgrade/gcn.h. A case
// asks for one of the three operators, or for the whole.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/judging/lab.h"
#include "judge/labs/gcn/graphs.h"
#include "judge/labs/gcn/numbers.h"

namespace warpgrade::gcn {

// As grader/judge/runner/gcn_runner.cpp numbers them.
enum class Operator { kTransform = 0, kAggregate = 1, kLogSoftmax = 2, kWhole = 3 };

// The contract's function that a case of this operator calls.
const char* function_of(Operator op);

struct Shape {
  Operator op = Operator::kTransform;
  std::optional<GraphPattern> pattern;  // none: the graph is a dataset
  int vertices = 0;                     // of a drawn graph
  Numbers numbers = Numbers::kUniform;  // of the operator's first input
  bool raw = false;                     // graph and the first run's numbers are the user's own
};

// A case of each operator on a folder in the raw layout (warpgrade/datasets/raw_layer.h). Throws
// datasets::DatasetError.
std::vector<Case> cases_of_raw_layer(const std::filesystem::path& folder);

Shape shape_of_case(const Case& spec);  // k is the number of vertices

// Judges one case on either backend; see grader/judge/labs/gcn/README.md for the order of things.
nlohmann::json judge_gcn(const JudgeContext& context, const Case& input);
// What the judge keeps of the case for every submission: its graphs, and that its kernels agree with the
// oracle about them.
void make_case_ahead(const JudgeContext& context, const Case& input);

}  // namespace warpgrade::gcn
