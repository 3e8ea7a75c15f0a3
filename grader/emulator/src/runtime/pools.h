// Memory pools: what stream-ordered allocations come from.
#pragma once
#include <cstdint>

namespace warpgrade::emu {

// An allocation was freed: its pool, if it came from one, has it back.
void return_to_pool(uint64_t address);

}  // namespace warpgrade::emu
