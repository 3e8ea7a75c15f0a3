// What the CLI asks of a judge process: one submission, many cases. Travels as JSON on the judge's standard
// input; results come back as JSON lines on its standard output, one a case, as each is done.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "judge/judging/lab.h"

namespace warpgrade {

struct JudgeJob {
  std::string lab;
  JudgeContext context;
  std::vector<Case> cases;

  nlohmann::json to_json() const;
  static JudgeJob from_json(const nlohmann::json& json);
};

}  // namespace warpgrade
