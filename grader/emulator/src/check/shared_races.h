// Racecheck for shared memory: who wrote and who read each word since the threads last met.
#pragma once
#include <cstdint>
#include <vector>

#include "check/order.h"
#include "exec/access.h"
#include "simt/observe_row.h"

namespace warpgrade::emu {

// Of one block's shared memory: the last writer of each unit (a word; a byte in kernels that access less than
// words), the first reader since all threads met and the last one.
class SharedShadow {
 public:
  void prepare(uint32_t shared_bytes, bool by_byte);
  void start(size_t warps) { order_.start(warps); }
  BlockOrder& order() { return order_; }

  // An access that has been resolved to shared memory. Reports what races with it, then remembers it.
  void check(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x);
  // The same of a load or a store of a row (simt/observe_row.h).
  void check_row(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Row& row);

 private:
  struct Stamps {
    std::vector<uint32_t> when, whom;
  };
  struct Range;

  bool pass_row(const Warp& w, const Inst& i, uint32_t first, uint32_t units_a_lane, AccessKind kind);
  bool has_conflicts(AccessKind kind, const Range& range) const;
  void remember_row(const Inst& i, AccessKind kind, const Range& range);
  void check_lanes(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x);
  void check_uniform(Warp& w, const Inst& i, uint32_t bytes, uint64_t host);
  void find_conflicts(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x);
  bool conflicts(Warp& w, const Inst& i, uint32_t lane, uint32_t unit, AccessKind kind, uint64_t host,
                 uint32_t bytes);
  void remember_read(uint32_t unit, uint32_t whom);

  uint32_t shift_ = 2;  // bytes to units
  BlockOrder order_;
  Stamps write_, first_read_, last_read_;
};

}  // namespace warpgrade::emu
