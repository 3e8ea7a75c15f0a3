// Racecheck for shared memory: who wrote and who read each word since the threads last met.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "check/async_copies.h"
#include "check/order.h"
#include "state/access.h"
#include "state/observe_row.h"

namespace warpgrade::emu {

// Where the stamps of a block's units lie, for native code (native/avx512_checks.cpp).
struct SharedStamps {
  uint32_t *write_when = nullptr, *write_whom = nullptr, *first_when = nullptr, *first_whom = nullptr,
           *last_when = nullptr, *last_whom = nullptr;
};

// Of one block's shared memory: the last writer of each unit (a word; a byte in kernels that access less than
// words), the first reader since all threads met and the last one.
class SharedShadow {
 public:
  void prepare(const Launch& launch);
  void start(const Block& block);
  BlockOrder& order() { return order_; }
  // All threads meet at a barrier.
  void meet();
  // Behind meet() of each block of the cluster.
  void meet_blocks() {
    if (async_) async_->order().meet_blocks();
  }
  // What follows asynchronous copies; nullptr for a kernel without.
  AsyncCopies* async() { return async_.get(); }
  // What a copy that is issued now, by any block of the cluster, writes (store) or reads here races with.
  void check_copy(Warp& w, const Inst& i, uint32_t lane, uint32_t offset, uint32_t bytes, AccessKind kind);
  // Empty where plain accesses are not all there is to look at.
  SharedStamps stamps();

  // An access that has been resolved to shared memory. Reports what races with it, then remembers it.
  void check(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x);
  // The same of a load or a store of a row (state/observe_row.h).
  void check_row(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Row& row);
  uint32_t unit_of(uint32_t offset) const { return offset >> shift_; }
  uint32_t units_of(uint32_t offset, uint32_t bytes) const {
    return bytes == 0 ? 0 : unit_of(offset + bytes - 1) - unit_of(offset) + 1;
  }

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
  void order_by(const Warp& w, const Inst& i);
  void check_beside_copies(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x);
  bool report_plain_access(Warp& w, const Inst& i, uint32_t lane, uint32_t unit, const Stamps& stamps,
                           AccessKind copies);

  const Block* block_ = nullptr;
  uint32_t shift_ = 2;  // bytes to units
  BlockOrder order_;
  Stamps write_, first_read_, last_read_;
  std::unique_ptr<AsyncCopies> async_;
};

}  // namespace warpgrade::emu
