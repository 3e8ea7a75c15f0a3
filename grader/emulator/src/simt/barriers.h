// Block barriers: bar.sync, bar.arrive, bar.red.
#pragma once
#include "exec/machine.h"

namespace warpgrade::emu {

// Opens every barrier that all awaited threads have reached; true when one opened.
bool open_barriers(Block& block);

// Nothing in the block can run: names the threads that wait, and where.
void report_deadlock(Block& block);

}  // namespace warpgrade::emu
