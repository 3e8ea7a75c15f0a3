// Runs warps by native code where there is some, and by the interpreter elsewhere.
#pragma once
#include "native/kernel.h"
#include "simt/launch.h"

namespace warpgrade::emu {

// The code for a launch, and the context of one of its workers; nullptr: the launch is interpreted.
const NativeCode* native_code_for(const Launch& launch);
std::unique_ptr<NativeContext> make_native_context(const Launch& launch, Worker& worker);
// Adds what native code counted by blocks to the counts by instruction.
void fold_native_counts(const NativeContext& context, const Program& program, Worker& worker);

// The context of this thread's worker; nullptr: it interprets.
NativeContext*& native_context();

// Enters native code at w.pc when it can: true when some ran, and `reschedule` and `interpret` say what is
// next.
bool run_native(Warp& w, NativeContext& context, NativeReturn& next);

}  // namespace warpgrade::emu
