#include "memory/device_heap.h"

#include <algorithm>

namespace warpgrade::emu {
namespace {

constexpr uint64_t kAlign = 16;       // of every block, as CUDA promises
constexpr uint64_t kSeparation = 16;  // between blocks: the byte past one is inside no other
constexpr uint64_t kAddressSpace =
    4;  // addresses for a byte of the limit: puts off the reuse of freed blocks

// Addresses that a block takes, from one block's begin to the next one's.
uint64_t span_of(uint64_t bytes) {
  return (std::max<uint64_t>(bytes, 1) + kAlign - 1) / kAlign * kAlign + kSeparation;
}

}  // namespace

DeviceHeap& DeviceHeap::instance() {
  static DeviceHeap* heap = new DeviceHeap;
  return *heap;
}

void DeviceHeap::reserve() {
  std::lock_guard lock(mutex_);
  if (end_ != 0) return;
  const uint64_t bytes = std::max(limit_bytes_, kAlign) * kAddressSpace;
  const auto begin =
      DeviceMemory::instance().allocate(bytes, MemoryKind::heap, "the heap of malloc in kernels");
  if (!begin) return;
  next_ = *begin;
  end_ = *begin + bytes;
}

bool DeviceHeap::set_limit(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (end_ != 0) return bytes == limit_bytes_;
  limit_bytes_ = bytes;
  return true;
}

uint64_t DeviceHeap::limit() const {
  std::lock_guard lock(mutex_);
  return limit_bytes_;
}

uint64_t DeviceHeap::allocate(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes > limit_bytes_ || used_bytes_ + span_of(bytes) > limit_bytes_) return 0;
  uint64_t begin = take_range(span_of(bytes));
  if (begin == 0) {
    recycle();
    begin = take_range(span_of(bytes));
  }
  if (begin == 0) return 0;
  used_bytes_ += span_of(bytes);
  blocks_[begin] = {begin, begin + bytes, false, next_number_++};
  return begin;
}

uint64_t DeviceHeap::take_range(uint64_t span) {
  if (next_ + span <= end_) {
    const uint64_t begin = next_;
    next_ += span;
    return begin;
  }
  for (auto range = free_ranges_.begin(); range != free_ranges_.end(); ++range) {
    const auto [begin, end] = *range;
    if (end - begin < span) continue;
    free_ranges_.erase(range);
    if (end - begin > span) free_ranges_[begin + span] = end;
    return begin;
  }
  return 0;
}

// Gives up what is known of freed blocks and makes their addresses, neighbours joined, free for use.
void DeviceHeap::recycle() {
  for (auto block = blocks_.begin(); block != blocks_.end();) {
    if (!block->second.freed) {
      ++block;
      continue;
    }
    free_ranges_[block->first] = block->first + span_of(block->second.bytes());
    block = blocks_.erase(block);
  }
  for (auto range = free_ranges_.begin(); range != free_ranges_.end();) {
    const auto next = std::next(range);
    if (next != free_ranges_.end() && next->first == range->second) {
      range->second = next->second;
      free_ranges_.erase(next);
    } else {
      range = next;
    }
  }
}

DeviceHeap::Release DeviceHeap::release(uint64_t address) {
  std::lock_guard lock(mutex_);
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return Release::not_a_block;
  if (found->second.freed) return Release::already_freed;
  found->second.freed = true;
  used_bytes_ -= span_of(found->second.bytes());
  return Release::released;
}

std::optional<DeviceHeap::Block> DeviceHeap::find(uint64_t address) const {
  std::lock_guard lock(mutex_);
  const auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return std::nullopt;
  return std::prev(after)->second;
}

Allocation DeviceHeap::named(const Allocation& allocation, uint64_t address) const {
  Allocation named = allocation;
  if (allocation.kind != MemoryKind::heap) return named;
  if (const auto block = find(address)) {
    named.begin = block->begin;
    named.end = block->end;
    named.name = block->name();
  }
  return named;
}

}  // namespace warpgrade::emu
