// What the warp-wide matrix instructions share.
#pragma once
#include "program/matrix.h"
#include "state/convergence.h"
#include "state/machine.h"

namespace warpgrade::emu {

// Matrix instructions need all 32 lanes; with fewer, their result is undefined. Reports that once.
void report_partial_warp(const Warp& w, const Inst& i);
// A sparse product of a warp group takes 64 bytes of each column of B. Where they are in lines of 32 is not documented.
void refuse_short_lines(Warp& w, const Inst& i);

inline void check_whole_warp(const Warp& w, const Inst& i) {
  if (w.mask != kAllLanes) [[unlikely]]
    report_partial_warp(w, i);
}

}  // namespace warpgrade::emu
