// What a worker counts while a kernel runs: for each instruction how often it ran and what its accesses cost,
// for each allocation the sectors that moved, for blocks how their work compares. Merged after the launch
// (report/counters.cpp). report/README.md defines each figure.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "observe/hierarchy.h"
#include "state/access.h"

namespace warpgrade::emu {

inline constexpr uint64_t kSectorBytes = 32;
inline constexpr uint32_t kAccessKinds = 3;  // AccessKind

struct ExecutionCounts {
  uint64_t warps = 0;  // times that a warp executed the instruction
  uint64_t lanes = 0;  // lanes for which it did something; of control instructions, lanes that were there
};

struct GlobalCounts {
  uint64_t requests = 0, lanes = 0, sectors = 0, ideal_sectors = 0;
};

struct SharedCounts {
  uint64_t requests = 0, passes = 0, ideal_passes = 0;
};

struct AccessCounts {
  GlobalCounts global[kAccessKinds];
  SharedCounts shared[kAccessKinds];
  uint64_t local_requests = 0;
  uint64_t atomic_lanes = 0, atomic_requests = 0;
  uint64_t atomic_turns = 0;  // of each request, the lanes that update the most wanted address
  uint64_t divergent_branches = 0;
};

// Sectors of one allocation: how many moved, and which.
class BufferTraffic {
 public:
  struct Plane {
    uint64_t moved = 0;
    std::vector<uint64_t> touched;  // a bit for each sector
    uint64_t* bits = nullptr;       // the same, for code that may call nothing
    uint64_t words = 0;
  };
  Plane& plane(AccessKind kind) { return planes_[kind != AccessKind::load]; }

  // Before touch(): `n` sectors moved, none of them beyond `last`. Sectors count from the allocation's begin.
  uint64_t* move(AccessKind kind, uint64_t n, uint64_t last) {
    Plane& p = planes_[kind != AccessKind::load];
    p.moved += n;
    if (last / 64 >= p.touched.size()) p.touched.resize(std::max(last / 64 + 1, 2 * p.touched.size()));
    p.bits = p.touched.data();
    p.words = p.touched.size();
    return p.bits;
  }
  static void touch(uint64_t* plane, uint64_t sector) { plane[sector / 64] |= uint64_t(1) << sector % 64; }
  void merge(const BufferTraffic& other);
  uint64_t moved(bool written) const { return planes_[written].moved; }
  uint64_t distinct(bool written) const;

 private:
  Plane planes_[2];
};

// Of the allocations that a launch touches; a program may have many more.
class TrafficMap {
 public:
  BufferTraffic& of(uint32_t allocation) {
    Recent& r = recent_[allocation % kRecent];
    if (r.traffic == nullptr || r.allocation != allocation) r = {allocation, &all_[allocation]};
    return *r.traffic;
  }
  const std::unordered_map<uint32_t, BufferTraffic>& all() const { return all_; }

 private:
  static constexpr uint32_t kRecent = 16;
  struct Recent {
    uint32_t allocation = 0;
    BufferTraffic* traffic = nullptr;
  };
  std::unordered_map<uint32_t, BufferTraffic> all_;  // by index in the launch's list
  Recent recent_[kRecent];
};

struct BlockCounts {
  uint64_t blocks = 0, warp_instructions = 0;
  uint64_t max_block_instructions = 0, max_warp_instructions = 0, max_warp_loads = 0;
  uint64_t as_if_busiest = 0;  // sum over blocks: instructions, had each warp as many as the busiest
};

struct WorkerCounts {
  std::vector<ExecutionCounts> executed;  // by instruction, but for those of the busy warp
  // Of one warp a block, by instruction: the one that did most in the worker's block before, at first warp 0. What it
  // does beyond the others is what they wait for.
  std::vector<ExecutionCounts> busy;
  uint32_t busy_warp = 0;              // in its block
  std::vector<AccessCounts> accesses;  // by instruction
  TrafficMap traffic;
  BlockCounts blocks;
  LevelCounts levels;
  std::unique_ptr<HotSectors> hot;  // where something was updated atomically

  explicit WorkerCounts(size_t instructions)
      : executed(instructions), busy(instructions), accesses(instructions) {}
  WorkerCounts(WorkerCounts&&) = default;  // a copy's traffic would point into the original
  std::vector<ExecutionCounts>& of_warp(uint32_t index) { return index == busy_warp ? busy : executed; }
  void add_block(const Block& block);
  void merge(const WorkerCounts& other);
};

void add(AccessCounts& sum, const AccessCounts& c);

}  // namespace warpgrade::emu
