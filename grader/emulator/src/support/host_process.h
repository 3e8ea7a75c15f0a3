// Whether the program's own code runs in this process, or in that of an executor's host
// (grader/judge/executor).
#pragma once

namespace warpgrade::emu {

// Set before the first launch.
inline bool g_host_is_elsewhere = false;

}  // namespace warpgrade::emu
