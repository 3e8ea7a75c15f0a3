// What the blocks of a launch found. It is told when the launch has ended, in the order of the blocks, which is no matter
// of time. Its owner locks.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "findings/diagnostics.h"

namespace warpgrade::emu {

// `sequence` orders what one block did.
struct FoundInBlock {
  uint64_t block = 0, sequence = 0;
  Diagnostic diagnostic;
};

struct BlockFindings {
  std::vector<FoundInBlock> found;
  std::map<uint32_t, std::optional<FoundInBlock>> doubtful;  // by instruction
  std::optional<FoundInBlock> early_exit;
  uint64_t next_sequence = 0;

  // That of the first block is described, the others are counted.
  template <class Describe>
  void add_first(std::optional<FoundInBlock>& known, uint64_t block, Describe describe) {
    const uint64_t count = known ? known->diagnostic.count + 1 : 1;
    if (!known || block < known->block) known = FoundInBlock{block, next_sequence++, describe()};
    known->diagnostic.count = count;
  }
};

}  // namespace warpgrade::emu
