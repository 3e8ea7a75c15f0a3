// One kernel launch: what is to run, and what is known of it while it runs.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "findings/block_findings.h"
#include "memory/device_memory.h"
#include "program/program.h"
#include "state/machine.h"
#include "state/nested.h"
#include "state/undo_log.h"

namespace warpgrade::emu {

// How a launch ended; the values are those of cudaError_t.
enum class Fault : int {
  none = 0,
  illegal_address = 700,
  launch_timeout = 702,
  device_assert = 710,
  illegal_instruction = 715,
  misaligned_address = 716,
  invalid_pc = 718,
  launch_failure = 719,
  not_supported = 801,  // a kernel that cannot run here was launched by a kernel
};

class GlobalRaces;
class TouchedMemory;
struct ImageObject;
struct NativeCode;

struct Launch {
  const Program* program = nullptr;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t cluster[3] = {1, 1, 1};  // of each axis the grid has a multiple
  uint32_t dynamic_shared = 0;
  bool cooperative = false;
  int device = 0;
  uint32_t reachable = 1;           // a bit for each device whose memory the kernel may access
  const uint8_t* params = nullptr;  // host address of the parameter buffer
  uint64_t params_address = 0;      // the same as the kernel sees it
  uint64_t workspace_address = 0;   // of a cooperative grid's barrier; 0: the grid has none
  uint64_t sequence = 0;
  uint64_t stack_limit = 1024;  // cudaLimitStackSize

  TouchedMemory* touched = nullptr;  // notes what the launch touches; nullptr: nobody asks

  // Of dynamic parallelism (state/nested.h).
  const DeviceRuntime* runtime = nullptr;    // of kernels that call it
  uint32_t depth = 0;                        // 0: launched by the host
  const NestedPlace* launched_at = nullptr;  // by a kernel; nullptr: by the host
  uint64_t steps_before = 0;                 // executed by the grids that led here

  uint32_t threads_per_block() const { return block[0] * block[1] * block[2]; }
  uint64_t blocks() const { return uint64_t(grid[0]) * grid[1] * grid[2]; }
  uint32_t cluster_blocks() const { return cluster[0] * cluster[1] * cluster[2]; }

  // Filled by run_launch.
  std::shared_ptr<const std::vector<Allocation>> allocations;
  std::shared_ptr<const std::vector<ImageObject>> images;
  std::vector<SharedVariable> shared;
  uint32_t shared_bytes = 0;
  bool native_able = false;                   // the kernel may be compiled
  const NativeCode* native = nullptr;         // at the beginning; nullptr: interpreted
  const GlobalRaces* global_races = nullptr;  // when racecheck is on
  std::atomic<uint64_t> next_cluster{0};
  uint64_t step_limit = 0;         // warp instructions; 0: none
  std::atomic<uint64_t> steps{0};  // executed so far, when there is a limit or counters are asked for
  // Given by the caller, or set from WARPEMU_LAUNCH_TIMEOUT_S.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();

  // What is found is told when the launch has ended, in the order of the blocks, which is no matter of time.
  //
  // A trial is a launch that several workers run and that can be undone. Where one finds anything, it is
  // over: the launch is undone and run again by one worker, so that answers and findings are those of
  // one worker.
  std::atomic<bool> trial{false}, spoilt{false};

  // Blocks from here on stop: the first one that a fault ended, in linear order. Those before it run on, so
  // that the fault that stands is the first one in the order of the blocks.
  std::atomic<uint64_t> stop_from{kNoBlock};
  bool stops(uint64_t linear) const { return linear >= stop_from.load(std::memory_order_relaxed); }
  bool is_over() const { return stop_from.load(std::memory_order_relaxed) == 0; }
  bool has_fault() const { return stop_from.load(std::memory_order_relaxed) != kNoBlock; }

  // Where the worker has too much to remember, the launch stands as it runs, and nobody remembers any more.
  void limit_undo(Worker& worker) {
    if (!trial) {
      worker.undo->forget_all();
      worker.undo = nullptr;
    } else if (worker.undo->words() * undo_logs.size() > UndoLog::kMostWords) [[unlikely]] {
      const std::lock_guard lock(findings_mutex);
      if (!spoilt) trial = false;
    }
  }

  // True when the launch will be run again, so that there is nothing to report.
  bool spoil_trial();
  void report(const Block& in, Diagnostic diagnostic);
  // The block's fault; of several, that of the first block stands.
  void fail(const Block& in, Fault f);
  // Time is over for all blocks. False when it was over before.
  bool end_of_time();

  // Keeps what a kernel asked for until the grid has ended. False when too much waits.
  bool add_nested(NestedWork work);
  // All of it, in the order in which it runs.
  std::vector<NestedWork> take_nested();

  // Findings that a race may explain: told unless a race was found at the same place. Of an instruction that
  // of the first block is described, the others are counted.
  template <class Describe>
  void add_doubtful(uint32_t instruction, const Block& in, Describe describe) {
    const std::lock_guard lock(findings_mutex);
    findings.add_first(findings.doubtful[instruction], in.linear, describe);
  }
  // Threads of a block came to a barrier after others had returned; told once a kernel.
  template <class Describe>
  void add_early_exit(const Block& in, Describe describe) {
    const std::lock_guard lock(findings_mutex);
    findings.add_first(findings.early_exit, in.linear, describe);
  }

  std::mutex findings_mutex;
  BlockFindings findings;
  uint64_t fault_block = kNoBlock;
  Fault fault = Fault::none;
  std::vector<UndoLog> undo_logs;  // by worker
  std::string printed;             // by the kernel, while a trial may be undone
  std::vector<NestedWork> nested;  // launches of the kernel, as they came
  uint64_t tail_launches = 0;
  std::atomic<uint32_t> refusals = 0;  // of its launches

  static constexpr uint64_t kNoBlock = ~uint64_t{0};
};

}  // namespace warpgrade::emu
