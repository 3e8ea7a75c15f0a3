// Counting a warp's access of global memory by lanes anywhere, with AVX-512.
#pragma once
#include "simt/count_access.h"

namespace warpgrade::emu {

// What count_access() adds for a load or a store of `bytes` (a power of two, at most 16) at the host
// addresses x.host of the lanes of `mask`, of which others are not looked at. False: nothing was counted,
// because a lane lies outside of the allocation that `known` describes, or its traffic has not come that far.
bool count_lanes_avx512(const CountedRow& known, const Access& x, uint32_t mask, uint32_t bytes);

}  // namespace warpgrade::emu
