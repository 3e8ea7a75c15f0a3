// Racecheck for asynchronous copies (cp.async, the copy engine's): from its issue until a warp knows of its
// end, a copy may write, or read, at any time. It races with accesses that are not ordered before its issue,
// and with those of warps that do not know of its end: by the mbarrier's phase or the group that they waited
// for, by a barrier behind that wait, or from another warp that waited.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "check/async_order.h"
#include "check/order.h"
#include "state/access.h"

namespace warpgrade::emu {

struct Launch;

// By its opcode: cp.async and the copy engine's, not what commits them, waits or arrives.
bool is_async_copy(const std::string& opcode);

class AsyncCopies {
 public:
  struct Copy {
    enum class State : uint8_t { under_way, ends_with_phase, over };
    uint32_t instruction = 0, thread = 0;
    const Block* issuer = nullptr;    // of the cluster; the thread is its
    uint32_t barrier = 0, phase = 0;  // ends_with_phase
    uint32_t over_at = 0;             // over: the clock, when its warp had waited
    uint32_t group = 0;               // under way
    State state = State::under_way;
    bool writes = false;
  };

  AsyncCopies(const Launch& launch, uint32_t units);
  void start(const Block& block, uint32_t now);
  AsyncOrder& order() { return *order_; }
  const AsyncOrder& order() const { return *order_; }
  bool is_copy(uint32_t instruction) const { return is_copy_[instruction]; }
  // A lock or a flag, but no mbarrier.
  bool is_flag(uint32_t instruction) const { return is_flag_[instruction]; }

  // A copy is issued that writes, or reads, these units of shared memory.
  void issue(Copy copy, uint32_t first, uint32_t units);
  // The copy that an access of a unit by a warp of the cluster races with; nullptr: none.
  const Copy* racing(uint32_t unit, uint32_t warp, AccessKind kind) const;

  // cp.async of a warp: of groups below `end`, or all. The copies end with a phase of a barrier instead.
  void finish_groups(uint32_t warp, uint32_t end, uint32_t now);
  void leave_to_barrier(uint32_t warp, uint32_t barrier);
  // Bulk groups of a thread: `left` may stay under way.
  void commit_bulk(uint32_t thread) { ++bulk_groups_[thread]; }
  uint32_t bulk_group(uint32_t thread) const { return bulk_groups_[thread]; }
  void finish_bulk(uint32_t thread, uint32_t left, uint32_t now);

 private:
  bool is_known_over(const Copy& copy, uint32_t warp) const;
  const Copy* racing_of(uint32_t number, uint32_t warp) const;
  Copy* find(uint32_t number);

  std::vector<bool> is_copy_, is_flag_;  // by instruction
  AsyncOrder own_order_;                 // the cluster's, in its first block
  AsyncOrder* order_ = &own_order_;
  std::vector<Copy> copies_;                         // the last ones, by number
  uint32_t next_ = 1;                                // number
  std::vector<uint32_t> writes_, reads_;             // by unit: the last copy's number; 0: none
  std::vector<std::vector<uint32_t>> pending_;       // by warp: cp.async under way
  std::vector<std::vector<uint32_t>> pending_bulk_;  // by warp: of bulk groups
  std::vector<uint32_t> bulk_groups_;                // by thread: committed
};

// The copies that the block's racecheck follows; nullptr: none.
AsyncCopies* async_copies(const Warp& w);
// The warp's number in the cluster.
inline uint32_t number_in_cluster(const Block& block, uint32_t warp) {
  return block.rank * static_cast<uint32_t>(block.warps.size()) + warp;
}

// Hooks of the handlers. Addresses are the kernel's, in any block of the cluster.
void follow_copy_to_shared(Warp& w, const Inst& i, uint32_t lane, uint64_t to, uint32_t bytes,
                           uint64_t barrier);
// What such a copy reads of the block's own shared memory.
void follow_copy_between_blocks(Warp& w, const Inst& i, uint32_t lane, uint64_t from, uint32_t bytes,
                                uint64_t barrier);
void follow_copy_from_shared(Warp& w, const Inst& i, uint32_t lane, uint64_t from, uint32_t bytes);
// cp.async of the active lanes, each of `bytes` to its host address.
void follow_lane_copies(Warp& w, const Inst& i, uint32_t bytes, const uint64_t* to);

// Of mbarriers by their host addresses: behind any operation; before a warp arrives; when a warp has seen the
// end of a phase.
void follow_mbarrier(Warp& w, uint64_t host, uint32_t parity);
void follow_arrival(Warp& w, uint64_t host);
void follow_wait(Warp& w, uint64_t host);
// cp.async of the warp arrive at the barrier when they are complete; they are waited for.
void follow_async_arrival(Warp& w, uint64_t host);
void follow_async_wait(Warp& w, uint32_t end);
void commit_bulk_group(Warp& w);
void wait_for_bulk_groups(Warp& w, uint32_t left);

}  // namespace warpgrade::emu
