// `warpgrade sweep SUBMISSION --param NAME=1,2,4`: compiles every combination, judges and times them on the
// chosen cases, prints tables, draws a heat map.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "batch/grade_run.h"

namespace warpgrade {

struct SweepOptions {
  std::filesystem::path submission;
  std::vector<std::string> parameters;  // "SPLIT_SIZE=32,64"
  size_t most_variants = 64;
  GradeOptions grade;
};

int sweep(SweepOptions options);

}  // namespace warpgrade
