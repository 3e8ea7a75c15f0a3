// One race is one report: both parties with their places, the memory, a sentence of advice.
#pragma once
#include <cstdint>
#include <string>

#include "state/access.h"

namespace warpgrade::emu {

struct RaceParty {
  uint32_t instruction = 0;  // index in the program
  uint32_t thread = 0;       // within its block
  uint64_t block = 0;        // linear
  // The other block has its fence; the one that learned of what it stored has none.
  bool learned_without_fence = false;
};

struct RacedMemory {
  Space space = Space::shared;
  std::string name;  // of the variable or allocation
  uint64_t bytes = 0;
  int64_t offset = 0;
  uint64_t address = 0;  // as the kernel sees it
};

// The access of `lane` at `i` and the earlier one of `other` are not ordered and one of them writes.
void report_race(Warp& w, const Inst& i, uint32_t lane, uint32_t bytes, AccessKind kind,
                 const RaceParty& other, const RacedMemory& memory);

// An asynchronous copy in shared memory and another access, or copy, that nothing orders: told at the copy.
struct CopyParty {
  uint32_t instruction = 0, thread = 0;
  bool writes = false;
};
void report_copy_race(const Block& block, const CopyParty& copy, const RaceParty& other,
                      const RacedMemory& memory);

// Whether a race was reported at a place of a kernel.
bool is_known_race(const std::string& kernel, const std::string& path, uint32_t line);

// Whether a store leaves the bytes as they are: such a race changes nothing and is not reported.
bool is_silent_store(const Warp& w, const Inst& i, uint32_t lane, uint64_t host);
// Whether two lanes store the same bytes in one instruction.
bool stores_same(const Warp& w, const Inst& i, uint32_t lane, uint32_t other_lane);

// "load", "store" or "atomic" of an instruction of the program.
const char* access_of(const Program& program, uint32_t instruction);

}  // namespace warpgrade::emu
