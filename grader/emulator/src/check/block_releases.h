// What blocks have told each other without a fence: a store, then an atomic operation (a counter, a lock, a
// flag), and no fence of the device between the two.
//
// By PTX's memory model ("Causality order") nothing that a block has stored is ordered before what another
// block reads, unless the storing block passes a fence of the device behind the store and writes something
// behind the fence. Which thread of the block does so is not asked: barriers hand the order on, and a missed
// race is better than a false one.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "check/order.h"

namespace warpgrade::emu {

class BlockReleases {
 public:
  static constexpr uint64_t kMostBlocks = uint64_t{1} << 20;

  explicit BlockReleases(uint64_t blocks) : of_(blocks) {}

  // A block passes a fence of the device.
  void fence(uint64_t block, BlockOrder& order) {
    order.advance();
    of_[block].fenced.store(order.now(), std::memory_order_relaxed);
  }

  // A block is about to write; `tells`: by an operation that others may wait for.
  void write(uint64_t block, BlockOrder& order, bool tells) {
    OfBlock& b = of_[block];
    if (const uint32_t fenced = b.fenced.exchange(0, std::memory_order_relaxed); fenced != 0)
      b.released.store(fenced, std::memory_order_release);
    if (!tells) return;
    order.advance();
    b.told.store(order.now(), std::memory_order_release);
  }

  // Whether the block has told others of what it had stored at that time of its clock, and no fence
  // stood between.
  bool told_without_fence(uint64_t block, uint32_t when) const {
    const OfBlock& b = of_[block];
    return when < b.told.load(std::memory_order_acquire) &&
           when >= b.released.load(std::memory_order_acquire);
  }

 private:
  // By the block's clock; 0: never.
  struct OfBlock {
    std::atomic<uint32_t> fenced{0};    // its last fence, when it has written nothing behind it
    std::atomic<uint32_t> released{0};  // its last fence behind which it has written
    std::atomic<uint32_t> told{0};      // its last write that others may wait for
  };

  std::vector<OfBlock> of_;
};

}  // namespace warpgrade::emu
