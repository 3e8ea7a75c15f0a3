// The lanes' stacks: where a frame lies, and the words of it that calls and system calls take.
#pragma once
#include <cstring>

#include "state/machine.h"

namespace warpgrade::emu {

// With initcheck each byte of the block's stacks has a flag, 1 once it was written, behind all of them.
inline size_t stacks_bytes(const Block& block) {
  return size_t(block.stack_bytes) * kLanes * block.warps.size();
}
inline void mark_stack(const Warp& w, const uint8_t* begin, size_t bytes, bool written) {
  if (w.worker->init_check) std::memset(const_cast<uint8_t*>(begin) + stacks_bytes(*w.block), written, bytes);
}

// The frame of a lane; `base_slot` holds its offset in each lane's stack, kNoSlot stands for offset 0.
inline uint8_t* frame(Warp& w, uint32_t base_slot, uint32_t lane) {
  uint8_t* stack = w.local + size_t(w.block->stack_bytes) * lane;
  return base_slot == kNoSlot ? stack : stack + lanes<uint64_t>(w, base_slot)[lane];
}

// An argument of a system call, whose decoder leaves the slot of the frame's base in `a`.
inline uint64_t stack_word(Warp& w, const Inst& i, uint32_t lane, uint32_t offset, size_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, frame(w, i.a, lane) + offset, bytes);
  return value;
}

}  // namespace warpgrade::emu
