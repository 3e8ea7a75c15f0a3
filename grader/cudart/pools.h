// Memory pools: what stream-ordered allocations come from.
#pragma once
#include <cstdint>

namespace warpgrade::cudart {

// An allocation was freed: its pool, if it came from one, has it back.
void return_to_pool(uint64_t address);
// All were.
void return_all_to_pools();

}  // namespace warpgrade::cudart
