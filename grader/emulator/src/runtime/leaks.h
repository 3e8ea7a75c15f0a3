// Memory that the program never frees, told when it ends (WARPEMU_CHECKS=leakcheck).
#pragma once
#include <cstdint>

namespace warpgrade::emu {

// Remembers where an allocation was made; nothing when leaks are not asked for.
void note_allocation(uint64_t address);

// Reports what is not freed now: at the program's end, and when it resets the device.
void report_leaks();

}  // namespace warpgrade::emu
