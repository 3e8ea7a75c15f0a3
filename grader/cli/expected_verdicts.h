// The staff's submissions to a lab, and the verdict that each must get.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "judge/declaration/lab_declaration.h"
#include "record/verdict.h"

namespace warpgrade {

struct Expected {
  std::string id;
  std::filesystem::path from;
  Verdict verdict;
  bool is_wrong() const;  // of the programs under wrong/: any one case may show it
};

// The stub, the solutions, the ladder's steps, and the programs under wrong/, of which a name may begin with
// the verdict; else it is wrong_answer.
std::vector<Expected> expected_verdicts(const declaration::LabDeclaration& lab);

}  // namespace warpgrade
