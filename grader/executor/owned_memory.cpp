#include "executor/owned_memory.h"

#include "executor/wire.h"

namespace warpgrade::executor {

using cudart::MemoryKind;
using cudart::MemoryRange;

bool OwnedMemory::has_room_for(MemoryKind kind, uint64_t bytes) const {
  if (ranges_.size() >= limits_.allocations) return false;
  if (kind != MemoryKind::device && kind != MemoryKind::managed) return true;
  return bytes <= limits_.device_bytes && device_bytes_ <= limits_.device_bytes - bytes;
}

void OwnedMemory::add(const MemoryRange& range) {
  const uint64_t bytes = range.end - range.begin;
  if (range.kind == MemoryKind::device || range.kind == MemoryKind::managed) device_bytes_ += bytes;
  if (range.kind == MemoryKind::managed) managed_bytes_ += bytes;
  ranges_[range.begin] = range;
}

void OwnedMemory::remove(uint64_t begin) {
  const auto found = ranges_.find(begin);
  if (found == ranges_.end()) return;
  const MemoryRange& range = found->second;
  const uint64_t bytes = range.end - range.begin;
  if (range.kind == MemoryKind::device || range.kind == MemoryKind::managed) device_bytes_ -= bytes;
  if (range.kind == MemoryKind::managed) managed_bytes_ -= bytes;
  ranges_.erase(found);
}

std::optional<MemoryRange> OwnedMemory::at(uint64_t begin) const {
  const auto found = ranges_.find(begin);
  if (found == ranges_.end()) return std::nullopt;
  return found->second;
}

std::optional<MemoryRange> OwnedMemory::around(uint64_t address) const {
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return std::nullopt;
  const MemoryRange& range = std::prev(after)->second;
  if (address > range.end) return std::nullopt;
  return range;
}

bool OwnedMemory::holds(uint64_t address, uint64_t bytes) const {
  const auto range = around(address);
  return range && bytes <= range->end - address;
}

// The first gap that is long enough.
std::optional<uint64_t> OwnedMemory::take_window(uint64_t bytes) {
  if (bytes == 0 || bytes > wire::kWindowBytes) return std::nullopt;
  const uint64_t pages = wire::round_up(bytes, wire::kPage);
  uint64_t at = 0;
  for (const auto& [offset, taken] : window_) {
    if (offset - at >= pages) break;
    at = offset + taken;
  }
  if (pages > wire::kWindowBytes - at) return std::nullopt;
  window_[at] = pages;
  return wire::kWindowAddress + at;
}

void OwnedMemory::give_window(uint64_t address) {
  window_.erase(address - wire::kWindowAddress);
}

std::vector<MemoryRange> OwnedMemory::all() const {
  std::vector<MemoryRange> list;
  for (const auto& [begin, range] : ranges_) list.push_back(range);
  return list;
}

}  // namespace warpgrade::executor
