// How a round's work becomes arrays: pure, so that thousands of tasks are planned in no time.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "course/slurm/site.h"

namespace warpgrade {

// What the cluster allows; read from it by cluster.h.
struct ClusterLimits {
  std::size_t max_array = 1001;    // MaxArraySize: indices lie below it
  std::size_t max_submit = 10000;  // jobs at once, every task of an array counted
  bool accounting = false;         // sacct answers
};

// One sbatch --array=0-(count-1): task i of it is task offset + i of the round.
struct ArrayPart {
  std::size_t offset = 0, count = 0;
};

struct RoundPlan {
  std::vector<std::vector<std::string>> compile, judge;  // tasks: the ids of their submissions
  std::vector<ArrayPart> compile_arrays, judge_arrays;

  nlohmann::json to_json() const;
  static RoundPlan from_json(const nlohmann::json& json);
};

// `to_compile` and `to_judge` are submissions' ids; `seconds` is what judging one takes. Tasks hold several
// submissions when these are short, or when the cluster takes no more tasks.
RoundPlan plan_round(const std::vector<std::string>& to_compile, const std::vector<std::string>& to_judge,
                     double seconds, const Site& site, const ClusterLimits& limits);

}  // namespace warpgrade
