// One warp's memory access, and the parts of it that are compiled once
// (src/simt/slow_access.cpp, observe.cpp).
#pragma once
#include "state/machine.h"

namespace warpgrade::emu {

enum class AccessKind : uint8_t { load, store, atomic };

struct Access {
  alignas(64) uint64_t host[kLanes];  // device addresses first, host addresses once resolved
  uint64_t low, high;                 // least and greatest of them
  Space space;                        // where the lanes ended up; generic: in several places
};

// Each lane on its own, for accesses that the fast paths refuse. Mistakes are reported and stop the launch;
// their lanes get an address in a scratch area.
void resolve_slowly(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, Access& x);

// Addresses of a cp.async, whose source and destination are resolved one after the other. `align` is what
// addresses must be a multiple of; 0: `bytes`.
void resolve_async(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, Access& x, uint32_t align = 0);

// Of lanes that all have one address: `bytes` from there on as a whole, however many. `align` is what the
// address must be a multiple of.
void resolve_range(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, Access& x, uint32_t align);

// Counters and initcheck.
void observe_access(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x);

}  // namespace warpgrade::emu
