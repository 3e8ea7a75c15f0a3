// Synccheck for operations between the lanes of a warp.
#pragma once
#include "state/machine.h"

namespace warpgrade::emu {

// `lane` runs a *_sync operation whose mask does not name it.
void report_not_in_mask(Warp& w, const Inst& i, uint32_t lane, uint32_t members);

// `lane` takes its value from `source`, which does not take part: it has exited, or runs other code.
void report_absent_source(Warp& w, const Inst& i, uint32_t lane, uint32_t source);

// Some threads of the block have returned while others come to a barrier: hardware waits for those that have
// not. Told once a kernel, as a note.
void report_early_exit(const Warp& w, const Inst& i, uint32_t lane);

}  // namespace warpgrade::emu
