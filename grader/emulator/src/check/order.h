// What happened before what among the threads of one block, as far as racecheck follows it.
//
// Every synchronization of the block draws the next number of one clock. An access carries the clock's value;
// a later access of another thread is ordered behind it when all threads have met since (a barrier), or when
// both are lanes of one warp and the later one has met its warp since (any *_sync operation). Where the truth
// is finer than that (named barriers of a few warps, tiles of a warp, locks) more is taken for ordered than
// is: a missed race is better than a false one.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "state/machine.h"

namespace warpgrade::emu {

class BlockOrder {
 public:
  // A block begins: what earlier ones did is over.
  void start(size_t warps) {
    lanes_since_.resize(warps);
    warps_since_.resize(warps);
    order_all();
  }

  void order_all() { all_since_ = ++clock_; }
  void advance() { ++clock_; }
  void order_lanes(uint32_t warp, uint32_t mask) {
    ++clock_;
    if (mask == kAllLanes) {
      warps_since_[warp] = clock_;
      return lanes_since_[warp].fill(clock_);
    }
    for (uint32_t m = mask; m != 0; m &= m - 1) lanes_since_[warp][__builtin_ctz(m)] = clock_;
  }

  // What order_lanes() of a whole warp writes to, for native code; all_since() is the next word.
  uint32_t* clock() { return &clock_; }
  uint32_t* lanes_of(uint32_t warp) { return lanes_since_[warp].data(); }
  uint32_t* warp_of(uint32_t warp) { return &warps_since_[warp]; }

  uint32_t now() const { return clock_; }
  uint32_t all_since() const { return all_since_; }
  const std::array<uint32_t, kLanes>& lanes_since(uint32_t warp) const { return lanes_since_[warp]; }

 private:
  uint32_t clock_ = 0;
  uint32_t all_since_ = 0;
  std::vector<std::array<uint32_t, kLanes>> lanes_since_;
  std::vector<uint32_t> warps_since_;  // when all 32 lanes of each met: no lane's is earlier
};

// Who made an access, in 32 bits: instruction, warp of the block, lane.
inline constexpr uint32_t kThreadBits = 10;
inline constexpr uint32_t kThreadMask = (1u << kThreadBits) - 1;
inline constexpr uint32_t kWarpMask = kThreadMask & ~(kLanes - 1);

constexpr uint32_t who(uint32_t instruction, uint32_t warp, uint32_t lane) {
  return instruction << kThreadBits | warp * kLanes | lane;
}
constexpr uint32_t instruction_of(uint32_t whom) {
  return whom >> kThreadBits;
}
constexpr uint32_t thread_of(uint32_t whom) {
  return whom & kThreadMask;
}

// Whether an access of `mine` (at the clock's value now) is not ordered behind that of `whom` at `when`.
inline bool is_unordered(uint32_t when, uint32_t whom, uint32_t mine, uint32_t all_since,
                         uint32_t lane_since) {
  const uint32_t differs = whom ^ mine;
  if (when < all_since || (differs & kThreadMask) == 0) return false;
  return (differs & kWarpMask) != 0 || when >= lane_since;
}

}  // namespace warpgrade::emu
