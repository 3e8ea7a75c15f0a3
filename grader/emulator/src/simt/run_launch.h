// How a launch runs.
#pragma once
#include "state/launch.h"

namespace warpgrade::emu {

// Runs a launch to its end on the pool's workers; one at a time. Returns how it ended.
Fault run_launch(Launch& launch);

}  // namespace warpgrade::emu
