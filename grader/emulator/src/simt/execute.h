// Runs the warps of a block until it ends, waits for other blocks, or fails.
#pragma once
#include <vector>

#include "check/shared_races.h"
#include "state/launch.h"
#include "state/machine.h"

namespace warpgrade::emu {

// held: at the cluster's barrier.
// preempted: it may be waiting for other blocks in a loop with barriers, which looks like any other work.
enum class BlockState : uint8_t { finished, spinning, preempted, held, aborted };

// A block with the storage of its warps, reused from block to block.
struct BlockSlot {
  Block block;
  std::vector<uint8_t> registers, local, shared, shared_init;
  SharedShadow races;

  void prepare(Launch& launch, Worker& worker);  // once a launch
  void start(uint64_t linear);                   // once a block
};

BlockState run_block(Block& block, Launch& launch);

// Ends the launch when its time is over; the first to notice reports where `block` stands.
bool stop_if_late(const Block& block, Launch& launch);

}  // namespace warpgrade::emu
