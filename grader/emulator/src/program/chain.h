// How long a warp that is alone would wait: the longest chain of dependent instructions through each basic
// block. Instructions of one block that do not depend on each other go side by side, as compilers hoist loads
// to the block's begin; blocks go one after the other.
#pragma once
#include <cstdint>
#include <vector>

#include "program/program.h"

namespace warpgrade::emu {

// What lies on a block's longest chain.
struct Chain {
  uint32_t global = 0;  // waits for global memory, one after the other
  uint32_t shared = 0;  // for shared memory, shuffles
  uint32_t cycles = 0;  // of all other instructions
  uint32_t loads = 0;   // global loads of the block, on the chain or not
};

// Of many executions together.
struct Chain64 {
  uint64_t global = 0, shared = 0, cycles = 0, loads = 0;

  void add(const Chain64& o) { global += o.global, shared += o.shared, cycles += o.cycles, loads += o.loads; }
  void add(const Chain& c, uint64_t times) {
    global += c.global * times, shared += c.shared * times, cycles += c.cycles * times,
        loads += c.loads * times;
  }
};

// By instruction: of the first one of each block the block's chain, of others nothing.
std::vector<Chain> find_chains(const Program& program);

}  // namespace warpgrade::emu
