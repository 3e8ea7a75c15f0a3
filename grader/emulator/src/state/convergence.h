// How lanes of a warp part and meet again.
//
// A warp is a set of fragments: lanes at one pc. The fragment with the lowest pc runs (block order makes that
// reconverge, program/order_blocks.cpp); fragments at one pc merge. A warp that spins gives the others turns.
#pragma once
#include "state/machine.h"

namespace warpgrade::emu {

// Back edges before parked lanes get a turn, and before the warp gives way to other warps. Loops that wait
// for other threads are patient: they give way soon. Giving way too early costs reconvergence.
inline constexpr uint32_t kPatientTurns = 32, kPatientTurnsAgain = 16;
inline constexpr uint32_t kTurns = 200000, kTurnsAgain = 64;
inline constexpr uint32_t kYieldAfter = 20000, kPatientStep = 400;

// Chooses the fragment to run next; sets w.stop when none can run.
void reschedule(Warp& w);

// Parked lanes at w.pc join those that run; w.join_pc is the next place where some wait.
void merge_here(Warp& w);

// Lanes that wait for their turn at a pc.
void park(Warp& w, uint32_t pc, uint32_t mask);

// Sends each lane of w.mask to its own target.
void scatter(Warp& w, const uint32_t* targets);

// Parks the lanes of w.mask at a warp-synchronous instruction until all live lanes that their masks name have
// come. On construction w.mask becomes the lanes whose group is complete (perhaps none); on destruction the
// warp moves on.
class Gathering {
 public:
  Gathering(Warp& w, const Inst& i, uint32_t member_slot);
  ~Gathering() {
    if (partial_) reschedule(w_);
  }
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;

 private:
  Warp& w_;
  bool partial_ = false;
};

// All lanes wait and none can run: releases lanes that wait for each other at different __syncwarp() of
// one mask.
bool join_warp_barriers(Warp& w);

}  // namespace warpgrade::emu
