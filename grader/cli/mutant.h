// A solution of the staff's with one instruction changed, and what came of it (cli/mutant_trials.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace warpgrade {

struct Mutant {
  enum class Fate {
    kUntried,
    kRefused,
    kSurvived,   // every case accepts it, and it changes an output: the cases do not see that
    kUnchanged,  // every case accepts it, and no bit of an output differs, in random shapes either
    kUnreached,  // no case gets to the instruction
    kNotJudged
  };

  std::size_t solution = 0;  // of the run's submissions
  std::string solution_id;
  std::string key, operation, kernel, title, instruction;
  std::string file;  // without folders
  int line = 0;      // of the outermost call, 0: unknown
  std::string inlined_from;
  int nth = 1;                           // among the solution's mutants of this operator at this line
  bool in_kernel = false;                // false: in a device function that is called
  std::uint32_t ordinal = 0, block = 0;  // of the instruction, in its function

  Fate fate = Fate::kUntried;
  std::string refused_by, verdict;  // case and verdict; of kNotJudged, why
  std::vector<std::string> passed;  // cases
  std::string shows_in;             // of kSurvived: where an output differs or is wrong
  bool is_wrong = false;            // of kSurvived: a random shape refuses it
};

}  // namespace warpgrade
