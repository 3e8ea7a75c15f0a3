#include "simt/hierarchy.h"

#include <algorithm>

#include "simt/launch.h"
#include "support/settings.h"

namespace warpgrade::emu {
namespace {

constexpr uint64_t kLineBytes = 128;
constexpr uint64_t kMix = 0x9e3779b97f4a7c15ull, kOtherMix = 0xc2b2ae3d27d4eb4full;
// Of devices that split it between shared memory and first level, what the driver keeps beyond the former.
constexpr uint64_t kBeyondShared = 28 << 10;
// Random gathers on an H200 behave as if two thirds of its second level held data.
constexpr double kUsefulPart = 2.0 / 3;

uint64_t shared_of_block(const Launch& launch) {
  return launch.program->static_shared_bytes + launch.dynamic_shared +
         settings().device.reserved_shared_per_block;
}

}  // namespace

void LevelCounts::add(const LevelCounts& o) {
  loads += o.loads, l1_misses += o.l1_misses, l2_accesses += o.l2_accesses;
  l2_read_misses += o.l2_read_misses, written_back += o.written_back;
  lines += o.lines;
}

void HotSectors::merge(const HotSectors& other) {
  for (size_t k = 0; k < table_.size(); ++k) table_[k] += other.table_[k];
}

uint64_t HotSectors::hottest() const {
  return *std::max_element(table_.begin(), table_.end());
}

uint32_t resident_blocks(const Launch& launch) {
  const DeviceModel& device = settings().device;
  const uint64_t threads = (launch.threads_per_block() + kLanes - 1) / kLanes * kLanes;
  const auto sms = static_cast<uint64_t>(device.multiprocessors);
  uint64_t most = std::min<uint64_t>(device.blocks_per_multiprocessor,
                                     device.threads_per_multiprocessor / std::max<uint64_t>(1, threads));
  most = std::min(most, device.shared_per_multiprocessor / std::max<uint64_t>(1, shared_of_block(launch)));
  return static_cast<uint32_t>(std::clamp<uint64_t>(most, 1, (launch.blocks() + sms - 1) / sms));
}

SecondLevel::SecondLevel() {
  const double lines = kUsefulPart * settings().device.l2_bytes / kLineBytes / kLinesPerSample;
  sets_ = std::max<uint64_t>(1, static_cast<uint64_t>(lines / kWays));
  ways_.resize(sets_ * kWays);
}

SecondLevel& SecondLevel::instance() {
  static auto* level = new SecondLevel;
  return *level;
}

void SecondLevel::flush() {
  const std::lock_guard lock(mutex_);
  std::fill(ways_.begin(), ways_.end(), Way());
}

void SecondLevel::access(uint64_t line, uint32_t sectors, bool read, bool write, LevelCounts& counts) {
  const std::lock_guard lock(mutex_);
  Way* set = &ways_[(line * kOtherMix >> 16) % sets_ * kWays];
  Way* way = std::find_if(set, set + kWays, [&](const Way& w) { return w.line == line; });
  if (way == set + kWays) {
    way = std::min_element(set, set + kWays, [](const Way& a, const Way& b) { return a.used < b.used; });
    counts.written_back += static_cast<uint64_t>(__builtin_popcount(way->dirty));
    *way = {line, 0, 0, 0};
  }
  way->used = ++clock_;
  counts.l2_accesses += static_cast<uint64_t>(__builtin_popcount(sectors));
  if (read) counts.l2_read_misses += static_cast<uint64_t>(__builtin_popcount(sectors & ~way->valid));
  way->valid |= static_cast<uint8_t>(sectors);
  if (write) way->dirty |= static_cast<uint8_t>(sectors);
}

Hierarchy::Hierarchy(const Launch& launch) : first_(kEntries) {
  const uint64_t unified = settings().device.shared_per_multiprocessor + kBeyondShared;
  const uint64_t blocks = resident_blocks(launch), shared = blocks * shared_of_block(launch);
  const uint64_t lines = (unified - std::min(unified - kBeyondShared / 2, shared)) / kLineBytes;
  const uint64_t warps = blocks * ((launch.threads_per_block() + kLanes - 1) / kLanes);
  reach_ = lines / std::max<uint64_t>(1, warps);
}

// The sectors that the first level holds.
uint32_t Hierarchy::found_in_first(Warp& w, uint64_t line, uint32_t sectors) {
  const uint64_t block = w.block->linear;
  Entry& e = first_[((line ^ block * kMix) * kOtherMix) >> 54];
  const auto now = static_cast<uint32_t>(w.lines_touched);
  if (e.line != line || e.block != block) {
    e = {};
    e.line = line, e.block = block;
  }
  uint32_t* near = nullptr;
  for (uint32_t k = 0; k < e.used && near == nullptr; ++k) {
    const uint32_t apart = now > e.times[k] ? now - e.times[k] : e.times[k] - now;
    if (apart <= reach_) near = &e.times[k];
  }
  const uint32_t found = near != nullptr ? sectors & e.sectors : 0;
  e.sectors |= static_cast<uint8_t>(sectors);
  if (near != nullptr) {
    *near = now;
  } else {
    e.times[e.next] = now;
    e.next = (e.next + 1) % e.times.size();
    e.used = static_cast<uint8_t>(std::min<size_t>(e.used + 1, e.times.size()));
  }
  return found;
}

void Hierarchy::follow(Warp& w, uint64_t line, uint32_t sectors, AccessKind kind) {
  uint32_t missing = sectors;
  if (kind == AccessKind::load) {
    counts.loads += static_cast<uint64_t>(__builtin_popcount(sectors));
    missing &= ~found_in_first(w, line, sectors);
    counts.l1_misses += static_cast<uint64_t>(__builtin_popcount(missing));
    if (missing == 0) return;
  }
  SecondLevel::instance().access(line, missing, kind != AccessKind::store, kind != AccessKind::load, counts);
}

}  // namespace warpgrade::emu
