// Lays out a warp's register file: virtual registers, constants, special registers.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "program/program.h"

namespace warpgrade::emu {

// Bytes of one lane of a register; 8-bit registers are kept in 16 bits. 0: a predicate, one mask for
// all lanes.
uint32_t lane_bytes(Type type);

class RegisterFile {
 public:
  RegisterFile();

  uint32_t allocate(uint32_t bytes_per_lane);
  // A register whose lanes all hold `bits`; filled before the kernel starts.
  uint32_t constant(uint64_t bits, uint32_t bytes_per_lane);
  uint32_t constant_mask(bool value);
  uint32_t special(Special what, uint32_t bytes_per_lane);
  // Where results go that nobody wants: after the two masks.
  uint32_t sink() { return sink_; }

  uint32_t bytes() const { return next_; }
  // The image of the file with all constants, and the special registers by when they change.
  void finish(Program& program) const;

 private:
  uint32_t next_ = 0;
  uint32_t sink_ = 0;
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> constants_;
  std::map<std::pair<Special, uint32_t>, uint32_t> specials_;
  uint32_t masks_[2] = {0, 0};
};

}  // namespace warpgrade::emu
