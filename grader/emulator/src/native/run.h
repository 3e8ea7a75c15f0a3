// Runs warps by native code where there is some, and by the interpreter elsewhere.
#pragma once
#include "native/kernel.h"
#include "state/launch.h"

namespace warpgrade::emu {

// Before a launch's first block: whether its kernel may be compiled, and its code when it is hot already.
void prepare_native(Launch& launch);
// Of one of its workers; nullptr: the launch is interpreted.
std::unique_ptr<NativeContext> make_native_context(const Launch& launch, Worker& worker);
// Adds what native code counted by blocks to the counts by instruction.
void fold_native_counts(NativeContext& context, const Program& program, Worker& worker);

// Back edges that a worker interprets before the kernel counts as hot in the middle of a launch.
inline constexpr uint32_t kHotBackEdges = 2000;
void warm_up(Worker& worker);
// Takes the newest version of the code.
void renew(NativeContext& context, Worker& worker);

// Enters native code at w.pc when it can: true when some ran, and `next` says what is to be done.
bool run_native(Warp& w, NativeContext& context, NativeReturn& next);

// An atomic of a site that has NativeAtomic, by the lanes of w.mask, with counters and checks; false: nothing
// was done, the handler has to.
bool native_update(Warp& w, NativeContext& context, uint32_t number);

}  // namespace warpgrade::emu
