// All labs of the tree: those that are declared in reference/<lab>/lab.yaml, and those whose judge is C++.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "judge/judging/lab.h"

namespace warpgrade {

const std::vector<const Lab*>& labs();

// What is wrong with labs whose file cannot be used, by name: none of labs().
const std::map<std::string, std::string>& unusable_labs();

// Throws UsageError that lists the labs when there is none of that name, or says what is wrong with its file.
const Lab& find_lab(const std::string& name);

// Of a lab whose judge is C++; `make` reads its file when labs are first asked for.
struct LabRegistration {
  LabRegistration(std::string name, std::function<std::unique_ptr<Lab>()> make);
};

}  // namespace warpgrade
