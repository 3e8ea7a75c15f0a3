// Counters per kernel, per source line and per buffer, as warpemu_drain_counters() hands them out.
#pragma once
#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "memory/device_memory.h"
#include "observe/counts.h"
#include "program/chain.h"
#include "program/instruction_class.h"
#include "program/program.h"
#include "report/reached.h"
#include "support/line_queue.h"

namespace warpgrade::emu {

// What instructions did, of one source line or of a kernel.
struct InstructionCounts {
  ExecutionCounts executed;
  uint64_t busy = 0;                                    // of `executed`, warp instructions of the busy warps
  std::array<uint64_t, kInstructionClasses> classes{};  // warp instructions
  uint64_t barriers = 0;                                // of blocks
  AccessCounts accesses;

  void add(const InstructionCounts& other);
};

// How a kernel was launched; shared_bytes are a block's, static and dynamic.
struct LaunchShape {
  uint32_t grid[3] = {0, 0, 0}, block[3] = {0, 0, 0};
  uint32_t shared_bytes = 0;
  uint32_t resident_blocks = 0;  // on a multiprocessor (observe/hierarchy.h)
  bool cooperative = false;
  bool waits_for_blocks = false;  // the kernel polls memory in a loop
  uint64_t threads() const { return uint64_t(grid[0]) * grid[1] * grid[2] * block[0] * block[1] * block[2]; }
};

class LaunchGroups;

class KernelCounters {
 public:
  // A call of the submission begins: a run that a judge would time, or any other.
  void begin_call(bool is_run);
  // Bytes that a copy or a fill moves within the device.
  void add_move(uint64_t bytes_read, uint64_t bytes_written);
  static KernelCounters& instance();
  // `counts` of all workers together.
  void add(const Program& program, const LaunchShape& shape, const std::vector<Allocation>& allocations,
           const WorkerCounts& counts, double wall_ms);
  size_t drain(char* json_lines, size_t capacity);

 private:
  using Place = std::pair<std::string, uint32_t>;  // file, line

  struct Buffer {
    uint64_t bytes = 0;
    // Sums over launches, of loads and of writes.
    uint64_t moved[2] = {}, distinct[2] = {};
  };

  struct Kernel {
    std::map<Place, InstructionCounts> lines;
    std::map<std::string, Buffer> buffers;
    BlockCounts blocks;
    LaunchShape largest;
    uint64_t launches = 0;
    double wall_ms = 0;
    double worst_imbalance = 0;  // of one launch: busiest block over mean block
  };

  // What is known of each instruction of a program, looked up once.
  struct Known {
    std::string title;
    std::vector<InstructionClass> classes;
    std::vector<bool> barriers;
    std::vector<Place> places;
    std::vector<Chain> chains;  // where an estimate is asked for
  };

  const Known& known(const Program& program);
  void push(const std::string& title, const Kernel& kernel);

  std::mutex mutex_;
  std::map<const Program*, Known> known_;
  std::map<std::string, Kernel> kernels_;  // by title
  LineQueue lines_;
  ReachedInstructions reached_;     // where it is asked for
  LaunchGroups* groups_ = nullptr;  // where an estimate is asked for; never destroyed
};

}  // namespace warpgrade::emu
