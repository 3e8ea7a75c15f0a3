// Where a kernel's blocks learn how far other blocks are: by counters, locks and flags in global memory.
#pragma once
#include <cstdint>

#include "program/program.h"

namespace warpgrade::emu {

// The first instruction by which a block may learn of another; Program::kNeverMeets where none is known, or
// where the kernel has other ways to meet, by which it may be right without a fence: acquires and releases,
// barriers of clusters, compare-and-swaps that are no lock.
uint32_t first_block_meeting(const Program& program);

// Whether an instruction stands in a loop with a barrier or a fence: it may poll a flag, though it is a
// plain load.
bool may_poll(const Program& program, uint32_t instruction);

}  // namespace warpgrade::emu
