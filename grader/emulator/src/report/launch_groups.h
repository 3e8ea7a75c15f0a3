// Launches of one kernel that are alike, summed up: what an estimate of time is made from. Sums over all
// launches of a kernel would not do, since what one launch waits for does not overlap with another's work.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "observe/hierarchy.h"
#include "program/chain.h"
#include "report/counters.h"

namespace warpgrade::emu {

class LaunchGroups {
 public:
  // A call of the submission begins; `is_run`: one that a judge would time, from a cold second level.
  void begin_call(bool is_run);
  // `instructions`: of the launch, all lines together.
  void add(const std::string& title, const LaunchShape& shape, const InstructionCounts& instructions,
           const Chain64& chain, const Chain& widest, const WorkerCounts& counts);
  // A copy within the device, or a fill.
  void add_move(uint64_t bytes_read, uint64_t bytes_written);
  void drain(LineQueue& lines);

 private:
  // kernel, in a run, block, shared memory, about how many blocks
  using Key = std::tuple<std::string, bool, uint32_t, uint32_t, uint32_t>;
  struct Group {
    LaunchShape largest;
    uint64_t launches = 0, resident_blocks = 0;
    InstructionCounts instructions;
    Chain64 chain;
    Chain widest;        // of the executed block with most loads
    BlockCounts blocks;  // sums over launches, of the maxima as well
    LevelCounts levels;
    uint64_t hottest = 0, distinct[2] = {};
  };
  struct Moves {
    uint64_t count = 0, bytes_read = 0, bytes_written = 0;
  };
  static void push(LineQueue& lines, const Key& key, const Group& group, uint64_t number, uint64_t runs);

  std::map<Key, Group> groups_;
  Moves moves_[2];  // outside of runs, in runs
  uint64_t runs_ = 0;
  bool in_run_ = true;  // where nobody says what a call is for, all that is launched is one run
};

}  // namespace warpgrade::emu
