// What kernels allocate with malloc and new: blocks inside one allocation of cudaLimitMallocHeapSize, which
// lives as long as the process. Blocks have exact bounds; a freed one is not used again until the heap's
// addresses run out, so that accesses to it are found.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "memory/device_memory.h"

namespace warpgrade::emu {

class DeviceHeap {
 public:
  static DeviceHeap& instance();

  struct Block {
    uint64_t begin = 0;
    uint64_t end = 0;
    bool freed = false;
    uint64_t number = 0;

    uint64_t bytes() const { return end - begin; }
    std::string name() const { return "device malloc #" + std::to_string(number); }
  };
  enum class Release : uint8_t { released, not_a_block, already_freed };

  // Before a launch that allocates: takes the memory, once. The limit stands from then on.
  void reserve();
  // False once the heap is in place.
  bool set_limit(uint64_t bytes);
  uint64_t limit() const;

  // 0 when the heap is exhausted.
  uint64_t allocate(uint64_t bytes);
  Release release(uint64_t address);
  // The block that holds an address, else the last one before it.
  std::optional<Block> find(uint64_t address) const;
  // What reports name: of the heap the block that holds an address, other allocations as they are.
  Allocation named(const Allocation& allocation, uint64_t address) const;

 private:
  uint64_t take_range(uint64_t span);
  void recycle();

  mutable std::mutex mutex_;
  uint64_t limit_bytes_ = 8ull << 20;
  uint64_t used_bytes_ = 0;
  uint64_t next_ = 0, end_ = 0;               // addresses never used so far
  std::map<uint64_t, Block> blocks_;          // by address
  std::map<uint64_t, uint64_t> free_ranges_;  // begin and end of what may be used again
  uint64_t next_number_ = 1;
};

}  // namespace warpgrade::emu
