// The same as observe_access() for the accesses that most kernels consist of: all lanes side by side, or all
// that are there at one place.
#pragma once
#include "state/access.h"

namespace warpgrade::emu {

struct Row {
  uint64_t low;     // host address of the first lane
  uint32_t stride;  // bytes from lane to lane: the access's size and all lanes are there, or 0
  Space space;      // global or shared

  uint64_t high() const { return low + uint64_t(stride) * (kLanes - 1); }
  Access access() const {
    Access x;
    for (uint32_t l = 0; l < kLanes; ++l) x.host[l] = low + uint64_t(stride) * l;
    x.low = low;
    x.high = high();
    x.space = space;
    return x;
  }
};

// The same as observe_access(), faster for lanes in order of address; counted: its cost was counted already.
void observe_lanes(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x, bool counted);
void observe_row(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Row& row, bool counted);

}  // namespace warpgrade::emu
