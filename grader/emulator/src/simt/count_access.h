// The cost of one warp's memory access, added to its worker's counts.
#pragma once
#include "exec/access.h"
#include "simt/observe_row.h"

namespace warpgrade::emu {

void count_access(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x);
void count_row(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Row& row);

}  // namespace warpgrade::emu
