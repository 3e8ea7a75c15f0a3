// Racecheck for global memory: between the blocks of a launch, and between threads of one block without
// a barrier.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "check/block_releases.h"
#include "check/order.h"
#include "exec/access.h"
#include "memory/device_memory.h"
#include "simt/observe_row.h"

namespace warpgrade::emu {

struct Launch;

// One access of a word: by whom, when in its block's time, in which block and launch, which of its four
// bytes. Workers write these without locks; a torn record mixes two accesses of one launch, either of which
// is the other party of the race.
struct alignas(16) GlobalStamp {
  uint32_t when = 0, whom = 0;
  uint32_t block = 0, launch_and_bytes = 0;

  uint32_t launch() const { return launch_and_bytes >> 4; }
  uint32_t bytes() const { return launch_and_bytes & 15; }
};

// The last write and the last read of each word of an allocation that kernels write.
class GlobalShadow {
 public:
  explicit GlobalShadow(uint64_t bytes);
  ~GlobalShadow();
  GlobalShadow(const GlobalShadow&) = delete;
  GlobalShadow& operator=(const GlobalShadow&) = delete;

  static constexpr uint64_t kMostBytes = uint64_t{1} << 30;  // of an allocation that is followed

  GlobalStamp* writes() const { return stamps_; }
  GlobalStamp* reads() const { return stamps_ + words_; }

 private:
  uint64_t words_;
  GlobalStamp* stamps_;  // zero pages until they are touched
};

// What a launch follows: allocations that its kernel may write (program/write_set.h), by index in
// the snapshot.
class GlobalRaces {
 public:
  explicit GlobalRaces(Launch& launch);

  void check(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x) const;
  // Of a row (simt/observe_row.h): true when nothing races with it, and it is remembered; false when check()
  // has to look.
  bool pass_row(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Row& row) const;
  // A fence of the device.
  void fence(const Warp& w) const;
  // Whether nothing that the kernel may write escapes check().
  bool follows_all_writes() const { return follows_all_writes_; }
  // Memory of an allocation, by index in the snapshot, that is handed out anew.
  void forget(uint32_t allocation, uint64_t offset, uint64_t bytes) const;

 private:
  struct LaneAccess;

  void check_lanes(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x, uint32_t lanes,
                   const Allocation& allocation, const GlobalShadow& shadow) const;

  void look_closer(const LaneAccess& a, uint64_t word, GlobalStamp& write, const GlobalStamp& read) const;
  bool remember_first_write(const LaneAccess& a, uint64_t word, GlobalStamp& stamp) const;
  // Whether a stamp leaves no doubt that what it tells of is ordered before the access.
  bool is_harmless(const GlobalStamp& theirs, const GlobalStamp& mine, uint32_t all_since,
                   uint32_t lane_since) const {
    if (theirs.launch() != launch_) return true;
    if (theirs.block != mine.block) return !looks_between_blocks();
    return !is_unordered(theirs.when, theirs.whom, mine.whom, all_since, lane_since);
  }
  bool looks_between_blocks() const { return between_blocks_ || releases_ != nullptr; }
  void note_meeting(const Warp& w, const Inst& i, AccessKind kind) const;
  // Whether a block has told another of what it stored, and which fence between is missing: its own, or
  // that of the one who learned of it.
  enum class Telling { ordered, told_without_fence, learned_without_fence };
  Telling telling(const LaneAccess& a, const GlobalStamp& theirs) const;
  bool is_race(const LaneAccess& a, const GlobalStamp& theirs) const;
  bool report_if_race(const LaneAccess& a, const GlobalStamp& theirs) const;
  const GlobalShadow* shadow_of(const Warp& w, const Inst& i, uint64_t host,
                                const Allocation** allocation) const;

  uint32_t launch_ = 0;
  bool follows_all_writes_ = true;
  bool between_blocks_ = true;               // false where fences, acquires or a grid barrier may order them
  std::unique_ptr<BlockReleases> releases_;  // where they meet by fences, locks and flags alone
  std::vector<const GlobalShadow*> followed_;  // by allocation; nullptr: not followed
};

}  // namespace warpgrade::emu
