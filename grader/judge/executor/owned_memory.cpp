#include "judge/executor/owned_memory.h"

#include "judge/executor/wire.h"

namespace warpgrade::executor {

using cudart::MemoryKind;
using cudart::MemoryRange;

namespace {

constexpr uint64_t kGrain = 512;  // an allocation takes at least this of the device

bool is_of_device(MemoryKind kind) {
  return kind == MemoryKind::device || kind == MemoryKind::managed;
}

}  // namespace

bool OwnedMemory::has_room_for(MemoryKind kind, uint64_t bytes, uint64_t other) const {
  if (ranges_.size() >= limits_.allocations) return false;
  if (!is_of_device(kind) || limits_.device_bytes == Limits::kNoLimit) return true;
  const uint64_t taken = device_bytes_ + other;
  return taken <= limits_.device_bytes && bytes <= limits_.device_bytes - taken;
}

uint64_t OwnedMemory::counted(const MemoryRange& range) {
  return wire::round_up(range.end - range.begin, kGrain);
}

void OwnedMemory::count(const MemoryRange& range, bool is_async, bool comes) {
  const uint64_t bytes = counted(range);
  const auto change = [&](uint64_t& sum) { comes ? sum += bytes : sum -= bytes; };
  if (is_of_device(range.kind)) change(device_bytes_);
  if (range.kind == MemoryKind::managed) change(managed_bytes_);
  if (is_async) change(async_bytes_);
}

void OwnedMemory::add(const MemoryRange& range, bool is_async) {
  remove(range.begin);
  ranges_[range.begin] = range;
  if (is_async) async_.insert(range.begin);
  count(range, is_async, true);
}

void OwnedMemory::remove(uint64_t begin) {
  const auto found = ranges_.find(begin);
  if (found == ranges_.end()) return;
  const bool is_async = async_.erase(begin) != 0;
  count(found->second, is_async, false);
  ranges_.erase(found);
  ++removals_;
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

bool OwnedMemory::is_free(uint64_t begin, uint64_t bytes) const {
  const auto after = ranges_.lower_bound(begin);
  if (after != ranges_.end() && after->first - begin < bytes) return false;
  return after == ranges_.begin() || std::prev(after)->second.end <= begin;
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
