#include "observe/hierarchy.h"

#include <algorithm>

#include "state/launch.h"
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
  sets_.resize(std::max<uint64_t>(1, static_cast<uint64_t>(lines / kWays)));
  flush();
}

SecondLevel& SecondLevel::instance() {
  static auto* level = new SecondLevel;
  return *level;
}

void SecondLevel::flush() {
  const std::lock_guard lock(mutex_);
  for (Set& set : sets_) set.fill(kEmpty);
}

void SecondLevel::Turn::access(uint64_t line, uint32_t sectors, bool read, bool write, LevelCounts& counts) {
  constexpr uint32_t kFlags = 2 * kLineSectors, kOfSectors = (1u << kLineSectors) - 1;
  Set& set = level_.sets_[(line * kOtherMix >> 16) % level_.sets_.size()];
  const Way wanted = line << kFlags;
  uint32_t at = 0;
  while (at < kWays - 1 && (set[at] ^ wanted) >> kFlags != 0) ++at;
  Way way = set[at];
  if ((way ^ wanted) >> kFlags != 0) {  // the one that was used longest ago makes room
    counts.written_back += static_cast<uint64_t>(__builtin_popcountll(way & kOfSectors));
    way = wanted;
  }
  const auto there = static_cast<uint32_t>(way >> kLineSectors & kOfSectors);
  counts.l2_accesses += static_cast<uint64_t>(__builtin_popcount(sectors));
  if (read) counts.l2_read_misses += static_cast<uint64_t>(__builtin_popcount(sectors & ~there));
  std::copy_backward(set.begin(), set.begin() + at, set.begin() + at + 1);
  set[0] = way | uint64_t{sectors} << kLineSectors | (write ? sectors : 0);
}

Hierarchy::Hierarchy(const Launch& launch) : first_(kEntries) {
  const uint64_t unified = settings().device.shared_per_multiprocessor + kBeyondShared;
  const uint64_t blocks = resident_blocks(launch), shared = blocks * shared_of_block(launch);
  const uint64_t lines = (unified - std::min(unified - kBeyondShared / 2, shared)) / kLineBytes;
  const uint64_t warps = blocks * ((launch.threads_per_block() + kLanes - 1) / kLanes);
  reach_ = lines / std::max<uint64_t>(1, warps);
}

// The sectors that the first level holds.
uint32_t Hierarchy::found_in_first(const SampledTouch& touch) {
  const auto [line, block, now, sectors, kind] = touch;
  Entry& e = first_[((line ^ block * kMix) * kOtherMix) >> 54];
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
  e.sectors |= sectors;
  if (near != nullptr) {
    *near = now;
  } else {
    e.times[e.next] = now;
    e.next = (e.next + 1) % e.times.size();
    e.used = static_cast<uint8_t>(std::min<size_t>(e.used + 1, e.times.size()));
  }
  return found;
}

void Hierarchy::follow(const SampledTouch& touch, SecondLevel::Turn& second) {
  uint32_t missing = touch.sectors;
  const AccessKind kind = touch.kind;
  if (kind == AccessKind::load) {
    counts.loads += static_cast<uint64_t>(__builtin_popcount(touch.sectors));
    missing &= ~found_in_first(touch);
    counts.l1_misses += static_cast<uint64_t>(__builtin_popcount(missing));
    if (missing == 0) return;
  }
  second.access(touch.line, missing, kind != AccessKind::store, kind != AccessKind::load, counts);
}

void Hierarchy::follow_all() {
  SecondLevel::Turn second(SecondLevel::instance());
  for (uint32_t k = 0; k < sampled.count; ++k) follow(sampled.of[k], second);
  sampled.count = 0;
}

}  // namespace warpgrade::emu
