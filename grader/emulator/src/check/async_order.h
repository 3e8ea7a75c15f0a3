// What happened before what between the warps of a cluster's blocks, where asynchronous copies need it exactly: an
// mbarrier orders who arrived before who waited and nobody else, and tells who waited which of its phases are
// over. Finer than BlockOrder, and kept only for kernels with such copies. Warps and barriers are numbered through
// the cluster; each block has a clock of its own.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace warpgrade::emu {

class AsyncOrder {
 public:
  // A cluster begins; `warps` are those of a block. Each block then begins at this value of its clock: all before is
  // over.
  void start(size_t warps, size_t blocks);
  void start_block(size_t rank, uint32_t now);

  // All threads of a block meet; behind that, all blocks.
  void meet(size_t rank, uint32_t now);
  void meet_blocks();
  // A warp arrives at a barrier, or has seen that a phase of it is over.
  void arrive(uint32_t warp, uint32_t barrier, uint32_t now);
  void pass(uint32_t warp, uint32_t barrier);
  // A warp uses a lock or a flag: it is taken for ordered behind all who did before.
  void use_flag(uint32_t warp, uint32_t now);

  // The parity of a barrier in shared memory after any operation on it.
  void see_parity(uint32_t barrier, uint32_t parity);
  // The number of the phase that has not ended.
  uint32_t phase_of(uint32_t barrier) { return barriers_[barrier].phase; }
  bool knows_end_of(uint32_t warp, uint32_t barrier, uint32_t phase) const;

  // Whether what `other` did at `when` is ordered before what `warp` does now.
  bool is_before(uint32_t when, uint32_t other, uint32_t warp) const {
    return warp == other || when <= std::max(common_of(warp).clocks[other], known_[warp].clocks[other]);
  }

 private:
  // What a warp knows of the others: when each last published its work, and the phases that are over.
  struct Knowledge {
    std::vector<uint32_t> clocks;
    std::map<uint32_t, uint32_t> phases;  // by barrier: the last that is over
    void take(const Knowledge& other);
  };
  struct Barrier {
    uint32_t parity = 0, phase = 1;
    Knowledge arrived;
  };
  void publish(uint32_t warp, uint32_t now, Knowledge& into);
  const Knowledge& common_of(uint32_t warp) const { return common_[warp / warps_]; }

  size_t warps_ = 1;               // of a block
  std::vector<Knowledge> known_;   // by warp
  std::vector<Knowledge> common_;  // by block: to all its warps
  Knowledge flags_;                // through flags
  std::map<uint32_t, Barrier> barriers_;
};

}  // namespace warpgrade::emu
