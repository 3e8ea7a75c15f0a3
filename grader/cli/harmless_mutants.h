// reference/<lab>/survivors.yaml: mutants that no case can refuse, each with an author's reason.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/mutant.h"

namespace warpgrade {

struct HarmlessMutant {
  std::string solution, file, operation, reason;
  int line = 0;
  int nth = 1;  // `ordinal`: among the solution's mutants of this operator at this line

  bool is(const Mutant& mutant) const;
};

struct Survivors {
  // Those whose mutants an author has gone through; {""}, all, without that line. `labs verify` tries them
  // alone.
  std::vector<std::string> solutions = {""};
  std::vector<HarmlessMutant> harmless;
};

// The staff's solutions of a lab, each with its folder, in the ladder's order: naive, step-1-tiles, ...
std::vector<std::pair<std::string, std::filesystem::path>> solutions_of(const std::string& lab);

std::filesystem::path survivors_file(const std::string& lab);
// Nothing in it where the lab has no such file. Throws UsageError with file and line.
Survivors read_survivors(const std::string& lab);

// The reason, or nullptr.
const std::string* reason_of(const std::vector<HarmlessMutant>& harmless, const Mutant& mutant);

}  // namespace warpgrade
