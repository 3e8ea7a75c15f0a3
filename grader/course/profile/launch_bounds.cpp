#include "course/profile/launch_bounds.h"

#include <algorithm>
#include <cmath>

#include "course/profile/launch_constants.h"

namespace warpgrade {
namespace {

// Of a grid or a block; 1 where nothing of use is said.
double side_of(const nlohmann::json& group, const char* shape, std::size_t which) {
  const auto found = group.find(shape);
  if (found == group.end() || !found->is_array() || found->size() <= which || !(*found)[which].is_number())
    return 1;
  return std::max(1.0, (*found)[which].get<double>());
}

double norm_of(const std::map<std::string, double>& bounds, double p) {
  double largest = 0, sum = 0;
  for (const auto& [name, us] : bounds) largest = std::max(largest, us);
  if (largest <= 0) return 0;
  for (const auto& [name, us] : bounds) sum += std::pow(us / largest, p);
  return largest * std::pow(sum, 1 / p);
}

}  // namespace

LaunchBounds::LaunchBounds(const LaunchFigures& launch, const nlohmann::json& group, double registers,
                           const DeviceRates& device, const Coefficients& k)
    : launch_(launch), device_(device), k_(k) {
  threads_ = side_of(group, "block", 0) * side_of(group, "block", 1) * side_of(group, "block", 2);
  warps_per_block_ = std::ceil(threads_ / kLanes);
  blocks_ = launch.get("blocks");
  resident_ = std::max(1.0, launch.get("resident_blocks"));
  if (registers > 0) {
    const double by_registers =
        device.registers_per_multiprocessor / (std::ceil(registers / 8) * 8 * warps_per_block_ * kLanes);
    resident_ = std::max(1.0, std::min(resident_, std::floor(by_registers)));
  }
  if (launch.cured(Cure::occupancy))
    resident_ = std::max(1.0, std::floor(device.threads_per_multiprocessor / (warps_per_block_ * kLanes)));
  // As many as the device holds, and a load at least for each warp.
  if (const double most = device.multiprocessors * resident_; launch.cured(Cure::blocks) && blocks_ < most) {
    more_ = std::clamp(launch.get("global_load_requests") / warps(), 1.0, most / std::max(1.0, blocks_));
    blocks_ *= more_;
  }
  multiprocessors_ = std::min(device.multiprocessors, std::max(1.0, blocks_));
  rows_ = side_of(group, "grid", 1) * side_of(group, "grid", 2);
}

std::map<std::string, double> LaunchBounds::bounds() const {
  double lines = l1(), passes = shared();
  const double pipe = lines + passes;
  (lines >= passes ? lines : passes) = pipe;
  return {{"dram", dram()},   {"l2", l2()},           {"l1", lines},          {"shared", passes},
          {"issue", issue()}, {"atomics", atomics()}, {"latency", latency()}, {"tail", tail()}};
}

// What is one path counts once: the second level works on what memory delivers while memory delivers it, and
// the pipe of the first level carries the passes of shared memory.
double LaunchBounds::bulk() const {
  auto parts = bounds();
  parts.erase("tail");
  parts.erase(parts["dram"] < parts["l2"] ? "dram" : "l2");
  parts.erase(parts["l1"] < parts["shared"] ? "l1" : "shared");
  return norm_of(parts, coefficient("norm"));
}

// What the busiest warp gets done, in microseconds of its own time, while the others run for `bulk`. It
// begins late, since blocks wait for room on a multiprocessor in their order; and where something else than
// latency binds, each of its waits is longer in the same measure (Little's law: as many loads are under
// way, and take bulk / latency times as long), so that it gets done what it would do in the launch's
// latency. Where the busiest block stands is not counted: in the middle, and in the middle of the last row
// of a grid whose second dimension repeats the same work (a strip of columns).
double LaunchBounds::busiest_done_in(double bulk) const {
  const double at_once = multiprocessors_ * resident_;
  const double begin = std::max(0.0, (rows_ - 0.5) / rows_ - at_once / std::max(1.0, blocks_));
  return (1 - begin) * std::min(bulk, latency() / coefficient("overlap"));
}

// What the cure adds before the launch: equal work needs results that are zero.
double LaunchBounds::preparation() const {
  if (!launch_.cured(Cure::balance) || results() <= 0) return 0;
  return coefficient("launch") +
         kMicro * kSectorBytes * results() / (device_.dram_bytes_per_s * coefficient("fill"));
}

double LaunchBounds::coefficient(const char* name) const {
  return k_.at(name);
}

double LaunchBounds::clocks(double cycles_of_all) const {
  return kMicro * cycles_of_all / (multiprocessors_ * device_.clock_hz) * waves();
}

// Of blocks that are all alike the last ones leave multiprocessors idle.
double LaunchBounds::waves() const {
  const double each = blocks_ / multiprocessors_;
  return launch_.cured(Cure::balance) ? 1 : 1 + coefficient("waves") * (std::ceil(each) / each - 1);
}

double LaunchBounds::issue() const {
  // With reuse, reads of shared memory stand where loads stood.
  const double moved = staged().writes + (launch_.cured(Cure::coalescing) ? staged().reads : 0);
  const double slots =
      coefficient("fp32") * launch_.of_class("fp32") + coefficient("integer") * launch_.of_class("integer") +
      coefficient("fp64") * launch_.of_class("fp64") * kLanes / device_.fp64_lanes * kSchedulers / 2 +
      coefficient("moves") * (launch_.of_class("conversion") + launch_.of_class("control")) +
      launch_.of_class("special") + coefficient("matrix") * launch_.of_class("matrix") +
      launch_.of_class("fp16") +
      coefficient("memory") *
          (launch_.of_class("global") + launch_.of_class("shared") + launch_.of_class("generic") +
           launch_.of_class("local") + launch_.of_class("atomic") + launch_.of_class("warp") + moved) +
      coefficient("barrier") * launch_.of_class("barrier");
  double part = 1;
  if (launch_.cured(Cure::divergence) && launch_.get("warp_instructions") > 0)
    part = launch_.get("thread_instructions") / (kLanes * launch_.get("warp_instructions"));
  // Special functions have a pipe of their own, of few lanes.
  const double special =
      coefficient("special") * launch_.of_class("special") * kLanes / device_.special_lanes;
  return part * clocks(std::max(slots / kSchedulers, special));
}

double LaunchBounds::atomics() const {
  const double hottest = launch_.get("hottest_sector_updates") / device_.updates_of_one_sector_per_s;
  return kMicro * std::max(updates() / update_rate(), left_of_updates() * hottest);
}

// Cycles that a wait for global memory takes, by where it is served.
// The slowest of `together` loads that are under way at once counts.
double LaunchBounds::global_wait(double together) const {
  const double in_l2 = missing_in_l1(), in_dram = in_l2 * missing_in_l2();
  const auto any = [&](double part) { return 1 - std::pow(1 - std::min(part, 1.0), together); };
  return coefficient("wait_l1") + any(in_l2) * coefficient("wait_l2") +
         any(in_dram) * coefficient("wait_dram");
}

double LaunchBounds::chain(double global, double shared, double cycles, double loads) const {
  return global * global_wait(global > 0 ? std::max(1.0, loads / global) : 1) +
         shared * coefficient("wait_shared") + cycles * coefficient("wait_plain");
}

double LaunchBounds::warps() const {
  return std::max(1.0, blocks_ * warps_per_block_);
}

// Equal work is cut by a list: before all else a warp loads which piece is its own, and waits for that.
double LaunchBounds::chain_of_all() const {
  const double looked_up = launch_.cured(Cure::balance) ? warps() : 0;
  double part = 1;
  if (launch_.cured(Cure::divergence) && launch_.get("warp_instructions") > 0)
    part = launch_.get("thread_instructions") / (kLanes * launch_.get("warp_instructions"));
  return part * (chain(launch_.get("chain_global") + looked_up, launch_.get("chain_shared"),
                       launch_.get("chain_cycles"), launch_.get("chain_loads") + looked_up) +
                 coefficient("wait_barrier") * launch_.get("barriers"));
}

double LaunchBounds::latency() const {
  const double at_once =
      multiprocessors_ * std::min(resident_, std::ceil(blocks_ / multiprocessors_)) * warps_per_block_;
  return kMicro * chain_of_all() * coefficient("overlap") / (at_once * device_.clock_hz);
}

// Of the busiest warp. A piece of equal work is not cut smaller than the lanes of a warp: they read what
// describes it with one request, and would stand idle.
double LaunchBounds::most_loads(double mean) const {
  const double most = launch_.get("max_warp_loads") / more_;
  return launch_.cured(Cure::balance) ? std::min(most, std::max(mean, kLanes)) : most;
}

// The busiest warp: what the mean warp does, and the loads beyond that as the block of instructions with
// most loads does them, which is where long loops stay.
double LaunchBounds::tail() const {
  const double mean = chain_of_all() / warps();
  const double loads = launch_.get("global_load_requests") / warps(), most = most_loads(loads);
  const double widest = launch_.total("widest_loads");  // of the code: the same in each launch
  double busiest = mean;
  if (widest > 0 && most > loads) {
    const double one = chain(launch_.total("widest_global"), launch_.total("widest_shared"),
                             launch_.total("widest_cycles"), widest);
    busiest += (most - loads) * one / widest;
  } else if (!launch_.cured(Cure::balance) && launch_.get("warp_instructions") > 0) {
    busiest *= launch_.get("max_warp_instructions") / more_ * warps() / launch_.get("warp_instructions");
  }
  return kMicro * coefficient("tail") * busiest / device_.clock_hz;
}

}  // namespace warpgrade
