// Counters per kernel, as warpemu_drain_counters() hands them out.
#pragma once
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "exec/machine.h"
#include "program/program.h"
#include "report/line_queue.h"

namespace warpgrade::emu {

class KernelCounters {
 public:
  static KernelCounters& instance();
  void add(const Program& program, const std::vector<Worker>& workers, double wall_ms);
  size_t drain(char* json_lines, size_t capacity);

 private:
  struct Total {
    Counters sum;
    uint64_t launches = 0;
    double wall_ms = 0;
    double worst_imbalance = 0;  // of one launch: busiest block over mean block
  };
  std::mutex mutex_;
  std::map<std::string, Total> totals_;
  LineQueue lines_;
};

}  // namespace warpgrade::emu
