// Which instructions of the PTX ran (WARPEMU_MUTANT=reached): a mutant of any other instruction changes nothing.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "observe/counts.h"
#include "program/program.h"
#include "support/line_queue.h"

namespace warpgrade::emu {

class ReachedInstructions {
 public:
  void add(const Program& program, const WorkerCounts& counts);
  // Of each function, by its mangled name, {"kernel": ..., "kind": "reached", "message": "0-12,15"}: ordinals in its
  // PTX. Kind "guard_false": a warp got there, and the guard held in no lane of any.
  void drain(LineQueue& lines);

 private:
  enum class Reached : uint8_t { no, guard_false, yes };
  struct Place {
    std::string function;
    uint32_t ordinal = 0;
  };
  void know_places(const Module& module);
  static void drain(const std::string& function, const std::vector<Reached>& ordinals, Reached kind,
                    LineQueue& lines);

  std::unordered_map<const char*, Place> places_;  // by the opcode's place in the text
  std::unordered_map<const Program*, bool> known_;
  std::map<std::string, std::vector<Reached>> functions_;
};

}  // namespace warpgrade::emu
