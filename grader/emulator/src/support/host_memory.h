// How much memory the host can still give.
#pragma once
#include <cstdint>

namespace warpgrade::emu {

// What the machine and the process's control group have left, swap included; the largest number when neither
// can be read.
uint64_t available_host_bytes();

}  // namespace warpgrade::emu
