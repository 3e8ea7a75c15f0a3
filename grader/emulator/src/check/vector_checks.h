// Racecheck and initcheck of whole warps with AVX-512: quick answers for accesses that are in order. Where
// vector_checks() is false, or an answer is no, the checks look lane by lane.
#pragma once
#include "check/global_shadow.h"
#include "state/access.h"

namespace warpgrade::emu {

// Whether the functions below may be called: the handlers in use are those for AVX-512 (WARPEMU_ISA).
bool vector_checks();

// What racecheck has remembered of the units that a row touches, unit by unit.
struct StampedRow {
  uint32_t *when, *whom;
};

// A warp that accesses a row, from the order of its block.
struct RowAccess {
  uint32_t now, all_since;
  const uint32_t* lanes_since;  // of its 32 lanes
  uint32_t whom;                // its first lane, with the instruction (check/order.h)
  uint32_t units_a_lane;        // 1, 2 or 4
};

// Shared memory: whether an access of some unit is not ordered behind what `stamps` tells.
bool has_unordered(const StampedRow& stamps, const RowAccess& row);
// Remembers the access in each unit; `stale`: only where all threads have met since.
void stamp_row(const StampedRow& stamps, const RowAccess& row, bool stale);

// A row of global memory, by the stamps of its words or by those of groups of eight words.
struct GlobalRow {
  GlobalStamp mine;  // of the first lane; by groups it holds the words of a lane (check/global_shadow.h)
  uint32_t all_since, words_a_lane;
  bool by_groups, between_blocks;
};

// Whether no stamp leaves a doubt about the order; some that do are in order all the same.
bool no_doubt(const GlobalStamp* stamps, const GlobalRow& row);
// Remembers the access: in all stamps, or (reads) in those of other launches and of its own block. True when open
// groups are left out, whose words have stamps of their own.
bool stamp_global(GlobalStamp* stamps, const GlobalRow& row, bool reads);

// Whether the flags of the words at all 32 addresses, which count from `begin`, are set.
bool all_words_set(const uint8_t* flags, const uint64_t* host, uint64_t begin);

}  // namespace warpgrade::emu
