// Where a kernel's blocks learn how far other blocks are: by counters, locks and flags in global memory.
#pragma once
#include <cstdint>

#include "program/program.h"

namespace warpgrade::emu {

// What an instruction is to other blocks.
enum BlockRole : uint8_t {
  kLearnsByWaiting = 1,   // takes a lock, or asks for a flag in a loop that waits for it
  kLearnsByCounting = 2,  // a counter whose value is compared for equality: who comes last goes on
  kGivesLockBack = 4,     // a store, an exchange or a compare-and-swap that gives a lock back
  kWithinLock = 8,        // between where a lock is taken and where it is given back
};

// Sets program.blocks_meet_at to the first instruction by which a block may learn of another, and
// program.block_roles. It stays Program::kNeverMeets where none is known, or where the kernel has other ways
// to meet, by which it may be right without a fence: acquires and releases, barriers of clusters,
// compare-and-swaps that are no lock.
void note_block_meetings(Program& program);

// Whether an instruction stands in a loop with a barrier or a fence: it may poll a flag, though it is a
// plain load.
bool may_poll(const Program& program, uint32_t instruction);

}  // namespace warpgrade::emu
