// One kernel launch, and how to run it.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "exec/machine.h"
#include "memory/device_memory.h"
#include "program/program.h"
#include "report/diagnostics.h"

namespace warpgrade::emu {

// How a launch ended; the values are those of cudaError_t.
enum class Fault : int {
  none = 0,
  illegal_address = 700,
  launch_timeout = 702,
  device_assert = 710,
  misaligned_address = 716,
  invalid_pc = 718,
  launch_failure = 719,
};

class GlobalRaces;

struct Launch {
  const Program* program = nullptr;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t dynamic_shared = 0;
  bool cooperative = false;
  const uint8_t* params = nullptr;  // host address of the parameter buffer
  uint64_t params_address = 0;      // the same as the kernel sees it
  uint64_t workspace_address = 0;   // of a cooperative grid's barrier; 0: the grid has none
  uint64_t sequence = 0;
  uint64_t stack_limit = 1024;  // cudaLimitStackSize

  uint32_t threads_per_block() const { return block[0] * block[1] * block[2]; }
  uint64_t blocks() const { return uint64_t(grid[0]) * grid[1] * grid[2]; }

  // Filled by run_launch.
  std::shared_ptr<const std::vector<Allocation>> allocations;
  std::vector<SharedVariable> shared;
  uint32_t shared_bytes = 0;
  const GlobalRaces* global_races = nullptr;  // when racecheck is on
  std::atomic<uint64_t> next_block{0};
  std::atomic<int> fault{0};
  std::atomic<bool> abort{false};
  uint64_t step_limit = 0;         // warp instructions; 0: none
  std::atomic<uint64_t> steps{0};  // executed so far, when there is a limit or counters are asked for
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();

  // Findings that a race may explain: reported when the launch has ended, unless one was found at the same
  // place. An instruction's first one is described, later ones are counted.
  template <class Describe>
  void add_doubtful(uint32_t instruction, Describe describe) {
    const std::lock_guard lock(doubtful_mutex);
    const auto [known, is_new] = doubtful.try_emplace(instruction);
    if (!is_new)
      ++known->second.count;
    else
      known->second = describe();
  }
  std::mutex doubtful_mutex;
  std::map<uint32_t, Diagnostic> doubtful;

  // The first fault of a launch stands.
  void fail(Fault f) {
    int expected = 0;
    fault.compare_exchange_strong(expected, static_cast<int>(f));
    abort.store(true, std::memory_order_relaxed);
  }
};

// Runs a launch to its end on the pool's workers; one at a time. Returns how it ended.
Fault run_launch(Launch& launch);

}  // namespace warpgrade::emu
