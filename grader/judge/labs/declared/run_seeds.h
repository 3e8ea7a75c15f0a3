// The seeds of a declared lab's case. They follow from the run's hidden seed and the place alone, not from
// the submission: every submission of a run gets the same inputs, and what the oracle answered for one is
// right for all. Nobody can tell them from another run's, and no submission can tell another one of its run.
#pragma once

#include <cstdint>
#include <string>

#include "base/hash.h"

namespace warpgrade::declared {

class RunSeeds {
 public:
  RunSeeds(const std::string& run_seed, const std::string& case_id)
      : of_case_(Sha256().part(run_seed).part("declared").part(case_id).hex()) {}

  // Numbers from 1 on. A plan's seed and a run's are counted apart, and those of checked runs and of
  // repetitions: what is prepared ahead, and how many repetitions there were, changes none.
  std::uint64_t plan(int number) const { return seed("plan", number); }
  std::uint64_t check(int number) const { return seed("check", number); }
  std::uint64_t repetition(int number) const { return seed("repetition", number); }
  std::uint64_t show() const { return seed("show", 0); }
  std::uint64_t order() const { return seed("order", 0); }
  std::uint64_t oracles_repetition() const { return seed("oracle's repetition", 0); }

 private:
  std::uint64_t seed(const char* purpose, int number) const {
    return Sha256().part(of_case_).part(purpose).part(std::to_string(number)).number();
  }

  std::string of_case_;
};

}  // namespace warpgrade::declared
