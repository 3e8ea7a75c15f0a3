// Which level of a GPU's memory would serve the accesses of a launch, for estimates of time: a sample of the
// lines is followed through a first-level cache and the second-level cache of the described device.
//
// Warps run here one after the other, there side by side. So the first level knows no order: a line is found
// there when some warp of the block touched it at about the same point of its own work, that is, when the
// lines that all resident warps touch between these points fit into the cache. The second level keeps the
// order of the blocks, which is close enough for a cache that is far larger than what blocks have under way.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "state/access.h"

namespace warpgrade::emu {

inline constexpr uint32_t kLineSectors = 4;      // of 32 bytes
inline constexpr uint32_t kLinesPerSample = 16;  // one line of so many is followed

// Of the sampled lines, in sectors.
struct LevelCounts {
  uint64_t loads = 0;        // that lanes asked for
  uint64_t l1_misses = 0;    // of these, what the second level had to give
  uint64_t l2_accesses = 0;  // loads that missed, stores, atomics
  uint64_t l2_read_misses = 0;
  uint64_t written_back = 0;  // dirty sectors that had to make room
  uint64_t lines = 0;         // of all requests, not of the sample: lines, each once a request

  void add(const LevelCounts& other);
};

// Most updates that one sector's atomics have got (two sectors may share a place in the table).
class HotSectors {
 public:
  void add(uint64_t sector, uint32_t lanes) { table_[(sector * kMix) >> (64 - kBits)] += lanes; }
  void merge(const HotSectors& other);
  uint64_t hottest() const;

 private:
  static constexpr uint64_t kMix = 0x9e3779b97f4a7c15ull;
  static constexpr uint32_t kBits = 11;
  std::array<uint64_t, 1u << kBits> table_{};
};

// The second level, of the process: what a launch leaves there the next one finds.
class SecondLevel {
 public:
  static SecondLevel& instance();
  void flush();  // as before each run that is timed

  // A worker's turn: while it lasts, no other one's accesses come between.
  class Turn {
   public:
    explicit Turn(SecondLevel& level) : level_(level), lock_(level.mutex_) {}
    void access(uint64_t line, uint32_t sectors, bool read, bool write, LevelCounts& counts);

   private:
    SecondLevel& level_;
    std::lock_guard<std::mutex> lock_;
  };

 private:
  static constexpr uint32_t kWays = 16;
  // A line's number, 56 bits, then two bits a sector: whether it is there, whether it is dirty. A number has
  // 34 bits and those of the allocation's index, of which 22 stay.
  using Way = uint64_t;
  static constexpr Way kEmpty = ~uint64_t{0} << (2 * kLineSectors);
  using Set = std::array<Way, kWays>;  // the last used first
  SecondLevel();
  std::mutex mutex_;
  std::vector<Set> sets_;
};

inline constexpr uint64_t kSampleMix = 0x9e3779b97f4a7c15ull;
// A line is followed where its number times kSampleMix, of which 64 bits stay, lies below this.
inline constexpr uint64_t kSampledBelow = uint64_t{1} << 60;
static_assert(kLinesPerSample == ~uint64_t{0} / kSampledBelow + 1);

// A request touches a line that is followed.
struct SampledTouch {
  uint64_t line, block;
  uint32_t now;     // of the warp's own clock: lines that it has touched
  uint8_t sectors;  // a bit each
  AccessKind kind;
};

// Touches in their order, until they are followed all at once. Native code adds to them (native_count_lines).
struct SampledTouches {
  static constexpr uint32_t kMost = 256, kOfRequest = kLanes;
  uint32_t count = 0;
  SampledTouch of[kMost];

  bool has_room() const { return count <= kMost - kOfRequest; }  // for one request more
};

// A worker's view during a launch.
class Hierarchy {
 public:
  explicit Hierarchy(const Launch& launch);
  // A request begins.
  void begin(Warp& w, AccessKind kind) {
    w.loads += kind == AccessKind::load ? 1 : 0;
    if (!sampled.has_room()) follow_all();
  }
  // A request touches `sectors` (a bit each) of a line. Lines are numbered over all allocations.
  void touch(Warp& w, uint64_t line, uint32_t sectors, AccessKind kind) {
    ++w.lines_touched;
    if (line * kSampleMix < kSampledBelow) [[unlikely]]
      sampled.of[sampled.count++] = {line, w.block->linear, static_cast<uint32_t>(w.lines_touched),
                                     static_cast<uint8_t>(sectors), kind};
  }
  // Sectors side by side, counted as lines are.
  void touch_row(Warp& w, uint64_t first, uint64_t last, AccessKind kind) {
    begin(w, kind);
    for (uint64_t line = first / kLineSectors; line <= last / kLineSectors; ++line) {
      const uint64_t begin = std::max(first, line * kLineSectors) % kLineSectors,
                     end = std::min(last, line * kLineSectors + kLineSectors - 1) % kLineSectors;
      touch(w, line, (2u << end) - (1u << begin), kind);
    }
  }
  // Atomic updates of a sector by `lanes`.
  void update(uint64_t sector, uint32_t lanes) {
    if (hot == nullptr) hot = std::make_unique<HotSectors>();
    hot->add(sector, lanes);
  }
  // What was touched until now goes through the levels; before `counts` is read.
  void follow_all();
  SampledTouches sampled;
  std::unique_ptr<HotSectors> hot;  // where something was updated
  LevelCounts counts;               // without the lines, which the warps count

 private:
  struct Entry {
    uint64_t line = ~uint64_t{0}, block = ~uint64_t{0};
    uint8_t sectors = 0, next = 0, used = 0;
    std::array<uint32_t, 4> times{};  // of warps' own clocks, at which the line was touched
  };
  void follow(const SampledTouch& touch, SecondLevel::Turn& second);
  uint32_t found_in_first(const SampledTouch& touch);
  static constexpr uint32_t kEntries = 1024;
  std::vector<Entry> first_;
  uint64_t reach_ = 0;  // lines that a warp may touch between two uses of a line that is found
};

// Blocks of the launch that a multiprocessor of the described device holds at once, without a look at
// registers, and never more than the grid has for each.
uint32_t resident_blocks(const Launch& launch);

}  // namespace warpgrade::emu
