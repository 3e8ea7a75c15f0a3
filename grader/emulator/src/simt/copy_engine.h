// What the copies of the copy engine share. Like plain bulk copies they happen when they are issued, which is
// one of the times at which they may happen on a GPU.
#pragma once
#include <cstdint>

#include "check/diagnose.h"
#include "program/program.h"
#include "state/access.h"
#include "state/launch.h"

namespace warpgrade::emu {

// One lane's copy.
struct LaneCopy {
  Warp& w;
  const Inst& i;
  const TensorCopy& copy;
  uint32_t lane;

  uint64_t address(const PackedAddress& a) const {
    return a.is_32 ? uint32_t(lanes<uint32_t>(w, a.slot)[lane] + uint32_t(a.offset))
                   : lanes<uint64_t>(w, a.slot)[lane] + uint64_t(a.offset);
  }
  bool stops() const { return w.stop != Stop::none; }
};

// Bytes that one lane reaches: checked as a whole when they are resolved, and looked at in pieces by the
// checks and counters.
class Stretch {
 public:
  Stretch(const LaneCopy& c, uint64_t address, uint32_t bytes, Space space, AccessKind kind, uint32_t align);

  uint8_t* host() const { return host_; }
  // Before the bytes at an offset are read or written.
  void look_at(uint32_t offset, uint32_t bytes) const;

 private:
  const LaneCopy& c_;
  AccessKind kind_;
  bool followed_ = true;
  uint8_t* host_ = nullptr;
  Space space_ = Space::generic;
};

// Counts bytes that have come at an mbarrier.
void complete_at(const LaneCopy& c, uint64_t barrier, uint32_t bytes);

// Writes or reduces; `type` is that of elements that are reduced.
void write_elements(const TensorCopy& copy, uint8_t* to, const uint8_t* from, uint32_t bytes, Type type);

void stop_launch(Warp& w, Diagnostic d, Fault fault);

// Calls use(address in shared memory, address of the barrier) for each block that gets the copy.
template <class Use>
void for_each_receiver(const LaneCopy& c, Use use) {
  const uint64_t to = c.address(c.copy.to), barrier = c.address(c.copy.barrier);
  if (!c.copy.to_several) return use(to, barrier);
  const uint32_t mask = lanes<uint16_t>(c.w, c.copy.mask)[c.lane];
  for (uint32_t m = mask; m != 0 && !c.stops(); m &= m - 1) {
    const uint64_t rank = uint64_t(__builtin_ctz(m)) + 1;
    const auto in_block = [&](uint64_t address) {
      return (address & kSharedOffsetMask) | rank << kRankShift;
    };
    use(in_block(to), in_block(barrier));
  }
}

// Each active lane in turn, until one ends the launch.
template <void (*perform)(const LaneCopy&)>
void each_lane_copies(Warp& w, const Inst& i) {
  static const TensorCopy none{};
  const std::vector<TensorCopy>& all_copies = w.block->program->tensor_copies;
  const TensorCopy& copy = i.target < all_copies.size() ? all_copies[i.target] : none;
  const uint32_t all = w.mask;
  for (uint32_t m = all; m != 0 && w.stop == Stop::none; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(m));
    w.mask = 1u << lane;
    perform({w, i, copy, lane});
  }
  w.mask = all;
}

}  // namespace warpgrade::emu
