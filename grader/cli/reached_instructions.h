// Which instructions of a program ran, as the emulator tells it with WARPEMU_MUTANT=reached.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/mutant.h"

namespace warpgrade {

class ReachedInstructions {
 public:
  // `counters`: of a case's record.
  static ReachedInstructions read(const nlohmann::json& counters);
  // A mutant that the run does not get to changes nothing in it.
  bool gets_to(const Mutant& mutant) const;
  bool runs(const std::string& function) const { return functions_.contains(function); }

 private:
  struct Function {
    std::vector<bool> reached, guard_false;  // by ordinal
  };
  std::map<std::string, Function> functions_;  // by mangled name
};

}  // namespace warpgrade
