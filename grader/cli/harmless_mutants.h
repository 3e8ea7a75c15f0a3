// reference/<lab>/survivors.yaml: mutants that no case can refuse, each with an author's reason.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/mutant_trials.h"

namespace warpgrade {

struct HarmlessMutant {
  std::string solution, file, operation, reason;
  int line = 0;
  int nth = 1;  // `ordinal`: among the solution's mutants of this operator at this line

  bool is(const Mutant& mutant) const;
};

// None where there is no such file. Throws UsageError with file and line.
std::vector<HarmlessMutant> read_harmless_mutants(const std::filesystem::path& file);

// The reason, or nullptr.
const std::string* reason_of(const std::vector<HarmlessMutant>& harmless, const Mutant& mutant);

}  // namespace warpgrade
