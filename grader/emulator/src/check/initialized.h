// Initcheck: whether a load reads global or shared memory that nobody has written.
#pragma once
#include "state/access.h"
#include "state/observe_row.h"

namespace warpgrade::emu {

// An access that has been resolved to shared or global memory: loads of unwritten bytes are reported, once an
// instruction and warp; stores and atomics mark what they touch.
void check_initialized(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x);

// Of one lane's access of the shared memory of `owner`, another block of the cluster.
void check_initialized_in(const Block& owner, Warp& w, const Inst& i, uint32_t lane, uint32_t bytes,
                          AccessKind kind, uint64_t host);

// The same of a row (state/observe_row.h) that is in order; false: check_initialized() has to look.
bool pass_initialized(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Row& row);

// Of loads of words whose bytes were all written, wherever they lie in one stretch of memory.
bool pass_initialized_lanes(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x);

// Memory that is handed out anew.
void forget_initialized(const Allocation& allocation, uint64_t address, uint64_t bytes);

// Whether the lanes' accesses lie side by side in the order of the lanes.
inline bool is_row(uint32_t mask, uint32_t bytes, const Access& x) {
  if (mask != kAllLanes || x.high - x.low != (kLanes - 1) * uint64_t(bytes)) return false;
  uint64_t difference = 0;
  for (uint32_t l = 0; l < kLanes; ++l) difference |= x.host[l] ^ (x.low + l * uint64_t(bytes));
  return difference == 0;
}

}  // namespace warpgrade::emu
