#include "report/counters.h"

#include <algorithm>

#include "report/json_line.h"

namespace warpgrade::emu {
namespace {

void accumulate(Counters& sum, const Counters& c) {
  sum.blocks += c.blocks;
  sum.warp_instructions += c.warp_instructions;
  sum.thread_instructions += c.thread_instructions;
  sum.global_requests += c.global_requests;
  sum.global_sectors += c.global_sectors;
  sum.global_sectors_ideal += c.global_sectors_ideal;
  sum.shared_requests += c.shared_requests;
  sum.shared_passes += c.shared_passes;
  sum.atomics += c.atomics;
  sum.arithmetic += c.arithmetic;
  sum.memory += c.memory;
  sum.barriers += c.barriers;
  sum.divergent_branches += c.divergent_branches;
  sum.max_block_instructions = std::max(sum.max_block_instructions, c.max_block_instructions);
}

double ratio(double x, double y) {
  return y == 0 ? 0 : x / y;
}

}  // namespace

KernelCounters& KernelCounters::instance() {
  static KernelCounters* counters = new KernelCounters;
  return *counters;
}

void KernelCounters::add(const Program& program, const std::vector<Worker>& workers, double wall_ms) {
  Counters launch;
  for (const Worker& w : workers) accumulate(launch, w.counters);
  const double mean =
      ratio(static_cast<double>(launch.warp_instructions), static_cast<double>(launch.blocks));
  std::lock_guard lock(mutex_);
  Total& total = totals_[program.title];
  accumulate(total.sum, launch);
  ++total.launches;
  total.wall_ms += wall_ms;
  total.worst_imbalance =
      std::max(total.worst_imbalance, ratio(static_cast<double>(launch.max_block_instructions), mean));
}

size_t KernelCounters::drain(char* json_lines, size_t capacity) {
  std::lock_guard lock(mutex_);
  for (const auto& [kernel, t] : totals_) {
    const Counters& c = t.sum;
    JsonLine json;
    json.text("kernel", kernel).number("launches", t.launches).number("blocks", c.blocks);
    json.number("warp_instructions", c.warp_instructions)
        .number("thread_instructions", c.thread_instructions);
    json.real("active_lanes",
              ratio(static_cast<double>(c.thread_instructions), static_cast<double>(c.warp_instructions)), 2);
    json.number("global_requests", c.global_requests).number("global_sectors", c.global_sectors);
    json.number("global_sectors_ideal", c.global_sectors_ideal);
    json.number("shared_requests", c.shared_requests).number("shared_passes", c.shared_passes);
    json.number("atomics", c.atomics).number("arithmetic", c.arithmetic).number("memory", c.memory);
    json.number("barriers", c.barriers).number("divergent_branches", c.divergent_branches);
    json.real("wall_ms", t.wall_ms, 3).real("block_imbalance", t.worst_imbalance, 2);
    lines_.push(json.str());
  }
  totals_.clear();
  return lines_.drain(json_lines, capacity);
}

}  // namespace warpgrade::emu
