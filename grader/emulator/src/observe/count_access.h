// The cost of one warp's memory access, added to its worker's counts.
#pragma once
#include "observe/counts.h"
#include "state/access.h"
#include "state/observe_row.h"

namespace warpgrade::emu {

void count_access(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x);
// Of global memory by lanes in order of address; false: not counted, count_access() has to.
bool count_ordered_lanes(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x);
// What counting a row takes where it is like the last one of its instruction: same memory, same shape.
struct CountedRow {
  uint64_t* counts = nullptr;              // GlobalCounts or SharedCounts; nullptr: not known
  BufferTraffic::Plane* plane = nullptr;   // of the allocation; nullptr: shared memory
  uint64_t first_sector = 0, sectors = 0;  // of the allocation, by host addresses
  uint64_t last_byte = 0;                  // from the first lane's address
  uint32_t bytes = 0;                      // of a lane
  uint64_t ideal = 0;  // sectors, where the row fills more than one; of shared memory: turns
  // Where lines are followed (observe/hierarchy.h) they go here, else nullptr; how the allocation's first
  // line is numbered.
  SampledTouches* sampled = nullptr;
  uint64_t first_line = 0;
  AccessKind kind = AccessKind::load;
};
CountedRow describe_row(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Row& row);
void count_row(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Row& row);

}  // namespace warpgrade::emu
