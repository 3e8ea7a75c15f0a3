// What to do about a race, by its pattern: which addresses the two accesses have, and what surrounds them.
#pragma once
#include <string>

#include "check/race_report.h"
#include "program/program.h"

namespace warpgrade::emu {

enum class Relation { same_instruction, same_warp, same_block, other_block };

// Two accesses of one place, by their indices in the program.
struct RacingPair {
  const Program& program;
  uint32_t mine = 0, theirs = 0;
  Relation relation = Relation::other_block;
  Space space = Space::global;
  bool learned_without_fence = false;  // RaceParty
};

struct RaceAdvice {
  // Set when both accesses are one `x += value`: how that ends, "one of the two updates is lost; ...".
  std::string lost;
  std::string cure;
};

RaceAdvice race_advice(const RacingPair& pair);

}  // namespace warpgrade::emu
