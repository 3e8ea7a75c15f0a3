// The labs that are declared in reference/*/lab.yaml.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "judge/judging/lab.h"

namespace warpgrade {

struct DeclaredLabs {
  std::vector<std::unique_ptr<Lab>> labs;
  std::map<std::string, std::string> mistakes;  // of labs whose file cannot be used: what is wrong with it
};
DeclaredLabs load_declared_labs();

}  // namespace warpgrade
