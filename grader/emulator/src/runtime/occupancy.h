// How many blocks of a kernel fit on a multiprocessor of the emulated GPU.
#pragma once
#include <cstddef>

#include "program/program.h"

namespace warpgrade::emu {

int max_active_blocks(const Program& program, int threads, size_t dynamic_shared);

}  // namespace warpgrade::emu
