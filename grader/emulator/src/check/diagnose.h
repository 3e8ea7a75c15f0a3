// Diagnostics of a lane: where it is, what it did, which memory it missed.
#pragma once
#include <string>

#include "findings/diagnostics.h"
#include "state/machine.h"

namespace warpgrade::emu {

// Another thread that is part of a mistake.
DiagnosedParty party_of(const Warp& w, const Inst& i, uint32_t lane, std::string access);

// Kind, place, kernel, block and thread of a lane at an instruction.
Diagnostic diagnose(const Warp& w, const Inst& i, uint32_t lane, Finding kind);

// ", in the loop of lines 8 to 9, ..." for the innermost and the outermost loop around an instruction; ""
// outside of loops.
std::string loops_around(const Program& program, uint32_t index);

const char* access_name(const Inst& i);

}  // namespace warpgrade::emu
