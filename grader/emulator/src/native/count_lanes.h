// Counting a warp's access by lanes anywhere, with AVX-512: of global memory, and of updates by atomics how
// many lanes take turns.
#pragma once
#include "observe/count_access.h"

namespace warpgrade::emu {

// What count_access() adds for a load or a store, as wide as `known` has it, at the host addresses x.host of
// the lanes of `mask`, of which others are not looked at. False: nothing was counted, because a lane lies
// outside of the allocation that `known` describes, its traffic has not come that far, or there is no room
// for the lines that are followed.
bool count_lanes_avx512(const CountedRow& known, Warp& w, const Access& x, uint32_t mask);

// Updates of words by the lanes of `mask`: how many lanes update the word that most of them update, and how
// many those of one bank of shared memory, which begins at `base`. All lie within 4 GiB from there.
struct Turns {
  uint32_t at_word, in_bank;
};
Turns turns_avx512(const Access& x, uint32_t mask, uint64_t base);

}  // namespace warpgrade::emu
