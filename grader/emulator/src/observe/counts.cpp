#include "observe/counts.h"

namespace warpgrade::emu {

void BufferTraffic::merge(const BufferTraffic& other) {
  for (int p = 0; p < 2; ++p) {
    Plane& mine = planes_[p];
    const Plane& theirs = other.planes_[p];
    mine.moved += theirs.moved;
    mine.touched.resize(std::max(mine.touched.size(), theirs.touched.size()));
    for (size_t k = 0; k < theirs.touched.size(); ++k) mine.touched[k] |= theirs.touched[k];
  }
}

uint64_t BufferTraffic::distinct(bool written) const {
  uint64_t n = 0;
  for (const uint64_t word : planes_[written].touched) n += static_cast<uint64_t>(__builtin_popcountll(word));
  return n;
}

void WorkerCounts::add_block(const Block& block) {
  uint64_t sum = 0, busiest = 0;
  for (const Warp& w : block.warps) {
    sum += w.instructions;
    if (w.instructions > busiest) busiest = w.instructions, busy_warp = w.index;
    blocks.max_warp_loads = std::max(blocks.max_warp_loads, w.loads);
    levels.lines += w.lines_touched;
  }
  ++blocks.blocks;
  blocks.warp_instructions += sum;
  blocks.max_block_instructions = std::max(blocks.max_block_instructions, sum);
  blocks.max_warp_instructions = std::max(blocks.max_warp_instructions, busiest);
  blocks.as_if_busiest += busiest * block.warps.size();
}

void WorkerCounts::merge(const WorkerCounts& other) {
  for (size_t k = 0; k < executed.size(); ++k) {
    executed[k].warps += other.executed[k].warps;
    executed[k].lanes += other.executed[k].lanes;
    busy[k].warps += other.busy[k].warps;
    busy[k].lanes += other.busy[k].lanes;
    add(accesses[k], other.accesses[k]);
  }
  for (const auto& [allocation, theirs] : other.traffic.all()) traffic.of(allocation).merge(theirs);
  blocks.blocks += other.blocks.blocks;
  blocks.warp_instructions += other.blocks.warp_instructions;
  blocks.max_block_instructions =
      std::max(blocks.max_block_instructions, other.blocks.max_block_instructions);
  blocks.max_warp_instructions = std::max(blocks.max_warp_instructions, other.blocks.max_warp_instructions);
  blocks.max_warp_loads = std::max(blocks.max_warp_loads, other.blocks.max_warp_loads);
  blocks.as_if_busiest += other.blocks.as_if_busiest;
  levels.add(other.levels);
  if (other.hot == nullptr) return;
  if (hot == nullptr)
    hot = std::make_unique<HotSectors>(*other.hot);
  else
    hot->merge(*other.hot);
}

void add(AccessCounts& sum, const AccessCounts& c) {
  for (uint32_t k = 0; k < kAccessKinds; ++k) {
    sum.global[k].requests += c.global[k].requests;
    sum.global[k].lanes += c.global[k].lanes;
    sum.global[k].sectors += c.global[k].sectors;
    sum.global[k].ideal_sectors += c.global[k].ideal_sectors;
    sum.shared[k].requests += c.shared[k].requests;
    sum.shared[k].passes += c.shared[k].passes;
    sum.shared[k].ideal_passes += c.shared[k].ideal_passes;
  }
  sum.local_requests += c.local_requests;
  sum.atomic_lanes += c.atomic_lanes;
  sum.atomic_requests += c.atomic_requests;
  sum.atomic_turns += c.atomic_turns;
  sum.divergent_branches += c.divergent_branches;
}

}  // namespace warpgrade::emu
