// What blocks have told each other without a fence: a store, then an atomic operation (a counter, a lock, a
// flag) by which another block learns of it, and no fence of the device between the store and the telling, or
// between the learning and the load.
//
// By PTX's memory model ("Release and Acquire Patterns", "Causality order") nothing that a block has stored is
// ordered before what another block reads, unless the storing block passes a fence of the device behind the
// store and writes something behind the fence, and the other block reads that and passes a fence behind it.
// Which thread of a block does so is not asked: barriers hand the order on, and a missed race is better than a
// false one.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "check/order.h"

namespace warpgrade::emu {

class BlockReleases {
 public:
  static constexpr uint64_t kMostBlocks = uint64_t{1} << 20;

  // How a block learns of others: not at all; by a lock or by a flag that it waits for; by a counter.
  enum class Learns { nothing, by_waiting, by_counting };

  explicit BlockReleases(uint64_t blocks) : of_(blocks) {}

  // A block passes a fence of the device.
  void fence(uint64_t block, BlockOrder& order) {
    OfBlock& b = of_[block];
    order.advance();
    b.fenced = order.now();
    b.acquired = b.met;
  }

  // A block is about to write.
  void write(uint64_t block) {
    OfBlock& b = of_[block];
    if (b.fenced == 0) return;
    b.released.store(b.fenced, std::memory_order_release);
    b.fenced = 0;
  }

  // A block is about to do what others may wait for, or what it may learn by.
  void meet(uint64_t block, BlockOrder& order, bool writes, Learns learns) {
    OfBlock& b = of_[block];
    order.advance();
    b.met = meetings_.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (learns == Learns::by_waiting) b.waited = b.met;
    if (learns == Learns::by_counting) b.counted = b.met, b.counted_when = order.now();
    if (!writes) return;
    b.told.store(order.now(), std::memory_order_release);
    const uint32_t released = b.released.load(std::memory_order_relaxed);
    if (released == b.released_then.load(std::memory_order_relaxed)) return;
    b.begins.store(b.effective, std::memory_order_relaxed);
    b.effective = order.now();
    b.told_at.store(b.met, std::memory_order_relaxed);
    b.released_then.store(released, std::memory_order_release);
  }

  // Whether the block has told others of what it had stored at that time of its clock, and no fence
  // stood between.
  bool told_without_fence(uint64_t block, uint32_t when) const {
    const OfBlock& b = of_[block];
    return when < b.told.load(std::memory_order_acquire) &&
           when >= b.released.load(std::memory_order_acquire);
  }

  // Whether `block` has told of it with a fence, and `reader` has learned of something since and passed no fence.
  // A barrier behind a counter counts as one: so do NVIDIA's sample threadFenceReduction and the guide's sum.
  bool learned_without_fence(uint64_t block, uint32_t when, uint64_t reader, const BlockOrder& order) const {
    const OfBlock &theirs = of_[block], &mine = of_[reader];
    if (when >= theirs.released_then.load(std::memory_order_acquire)) return false;
    if (when < theirs.begins.load(std::memory_order_relaxed))
      return false;  // told of earlier: not known when
    const uint64_t at = theirs.told_at.load(std::memory_order_relaxed);
    const bool counted = mine.counted > at && order.all_since() <= mine.counted_when;
    return (mine.waited > at || counted) && mine.acquired <= at;
  }

 private:
  struct OfBlock {
    // Times of the block's clock; 0: never.
    std::atomic<uint32_t> released{0};  // its last fence behind which it has written
    std::atomic<uint32_t> told{0};      // its last write that others may wait for
    uint32_t fenced = 0;                // its last fence, when it has written nothing behind it
    uint32_t counted_when = 0;
    // Of the last time that it told of what is behind a new fence: which fence, and the time before that.
    std::atomic<uint32_t> released_then{0}, begins{0};
    uint32_t effective = 0;
    // By the count of all blocks' meetings.
    std::atomic<uint64_t> told_at{0};  // that time
    uint64_t met = 0, waited = 0, counted = 0;
    uint64_t acquired = 0;  // its last meeting before its last fence
  };

  std::vector<OfBlock> of_;
  std::atomic<uint64_t> meetings_{0};
};

}  // namespace warpgrade::emu
