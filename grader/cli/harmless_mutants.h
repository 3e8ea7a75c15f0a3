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

// `solutions:` of that file: those whose mutants an author has gone through; {""}, all, where it names none.
// `labs verify` tries them alone. Throws UsageError with file and line.
std::vector<std::string> solutions_with_reasons(const std::filesystem::path& file);

// The reason, or nullptr.
const std::string* reason_of(const std::vector<HarmlessMutant>& harmless, const Mutant& mutant);

}  // namespace warpgrade
