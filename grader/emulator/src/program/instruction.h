// A decoded instruction, as handlers run it: plain data.
//
// A register is a vector of 32 lanes in the warp's register file and is named by its byte offset there; a
// predicate is one 32-bit mask. Immediates and special registers are registers that were filled before the
// kernel starts, so handlers see nothing but offsets.
#pragma once
#include <cstdint>

#include "ptx/types.h"

namespace warpgrade::emu {

struct Inst;
struct Warp;

inline constexpr uint32_t kLanes = 32;
inline constexpr uint32_t kAllLanes = ~0u;
inline constexpr uint32_t kNoSlot = ~0u;
inline constexpr uint32_t kAlwaysSlot = 0;  // register-file offset of the mask that is always true

// Generic addresses of shared and local memory carry a tag in their top byte; global addresses have
// none. Those of local memory name their thread as well (local_window), so that another thread's use of
// one is found.
inline constexpr uint64_t kSharedTag = 0x5a00000000000000ull;
inline constexpr uint64_t kLocalTag = 0x5b00000000000000ull;
inline constexpr uint64_t kTagMask = 0xff00000000000000ull;
inline constexpr uint32_t kSharedStart =
    1024;  // from sm_90 on: the system keeps what lies below (system_shared_bytes())

// Where a shared address names its block of the cluster (mapa), the block's rank plus 1 stands here.
inline constexpr uint32_t kRankShift = 24;
inline constexpr uint32_t kSharedOffsetMask = (1u << kRankShift) - 1;

using Handler = void (*)(Warp&, const Inst&);

// What a counter line counts an instruction as.
enum class Category : uint8_t { other, arithmetic, memory, atomic, barrier };

struct Inst {
  Handler run = nullptr;
  uint32_t guard = kAlwaysSlot;
  uint32_t guard_flip = 0;  // ~0 for @!p
  uint32_t d = 0, a = 0, b = 0, c = 0,
           e = kNoSlot;   // destination, sources, second destination or fourth source
  uint32_t vec[8] = {};   // elements of a vector operand
  int64_t imm = 0;        // address offset, look-up table, parameter offset
  uint32_t target = 0;    // of branches: instruction index, or index of a branch table or call record
  uint32_t location = 0;  // index into Module::locations
  uint32_t index = 0;     // of this instruction in its program
  uint8_t vec_count = 1;
  Space space = Space::generic;
  uint8_t bytes = 0;      // of one element in memory
  uint8_t reg_bytes = 0;  // of one lane of the register
  uint8_t variant = 0;    // which form of the operation
  uint8_t flags = 0;
  Category category = Category::other;
  bool control = false;  // a branch, call or exit: lanes that do not take it decide as well
  bool address_is_32 = false;
  bool patient = false;  // of backward branches: the loop waits for other threads (holds cas, volatile, ...)
  Handler inner = nullptr;  // what a wrapping handler (rounding mode) calls
};

}  // namespace warpgrade::emu
