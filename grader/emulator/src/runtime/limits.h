// Limits of the device that launches take into account.
#pragma once
#include <cstddef>

namespace warpgrade::emu {

// cudaLimitStackSize: bytes of stack a thread has.
size_t stack_limit();

}  // namespace warpgrade::emu
