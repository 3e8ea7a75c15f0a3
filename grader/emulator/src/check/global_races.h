// Racecheck for global memory: between the blocks of a launch, and between threads of one block without
// a barrier.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "check/block_releases.h"
#include "check/global_shadow.h"
#include "check/order.h"
#include "memory/device_memory.h"
#include "state/access.h"
#include "state/observe_row.h"

namespace warpgrade::emu {

struct Launch;

// What a launch follows: allocations that its kernel may write (program/write_set.h), by index in
// the snapshot.
class GlobalRaces {
 public:
  explicit GlobalRaces(Launch& launch);

  void check(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x) const;
  // Of a row (state/observe_row.h): true when nothing races with it, and it is remembered; false when check()
  // has to look.
  bool pass_row(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Row& row) const;
  // A fence of the device.
  void fence(const Warp& w) const;
  // Whether nothing that the kernel may write escapes check().
  bool follows_all_writes() const { return follows_all_writes_; }
  // Whether the kernel may write the allocation, by index in the snapshot.
  bool follows(uint32_t allocation) const { return followed_[allocation] != nullptr; }
  // Memory of an allocation, by index in the snapshot, that is handed out anew.
  void forget(uint32_t allocation, uint64_t offset, uint64_t bytes) const;

 private:
  struct LaneAccess;
  struct LanePlace;

  void check_words(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, uint64_t host,
                   const LanePlace& place, GlobalStamp mine) const;
  void check_lanes(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x, uint32_t lanes,
                   const Allocation& allocation, const GlobalShadow& shadow) const;

  // A row that begins with a group of words: in stamps of groups.
  struct GroupedRow;
  bool pass_groups(const GroupedRow& row) const;
  bool is_harmless_group(const GroupedRow& row, const Stamps& stamps, uint32_t k) const;
  void note_read_groups(const GroupedRow& row) const;
  void note_read_group(const GroupedRow& row, uint32_t k) const;
  bool pass_group(const GroupedRow& row) const;
  bool remember_group(const GroupedRow& row, uint32_t k) const;
  void note_read(const Stamps& reads, uint64_t word, const GlobalStamp& mine) const;

  void look_closer(const LaneAccess& a, uint64_t word, const GlobalShadow& shadow, const GlobalStamp& write,
                   const GlobalStamp& read) const;
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
