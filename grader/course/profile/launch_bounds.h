// What a launch asks of each part of a device, in microseconds: the bounds of course/profile/estimate.h.
#pragma once

#include <map>
#include <string>

#include "course/profile/launch_figures.h"

namespace warpgrade {

class LaunchBounds {
 public:
  // `group`: of the launch; `registers`: of a thread, 0 where they are not known. All are kept by reference.
  LaunchBounds(const LaunchFigures& launch, const nlohmann::json& group, double registers,
               const DeviceRates& device, const Coefficients& k);

  // By name. Of `l1` and `shared`, which use one pipe, the one with more work stands for both.
  std::map<std::string, double> bounds() const;
  // The time of the bounds but the tail: one after the other as far as they do not overlap.
  double bulk() const;
  // What the busiest warp gets done, in microseconds of its own time, while the others run for `bulk`.
  double busiest_done_in(double bulk) const;
  // What the cure adds before the launch: equal work needs results that are zero.
  double preparation() const;

 private:
  // Requests that a cure leads through shared memory: those that write it there and those that read it.
  struct Staged {
    double writes = 0, reads = 0;
  };

  double coefficient(const char* name) const;
  double load_sectors() const;
  double results() const;
  double store_sectors() const;
  double joined() const;
  double missing_in_l1() const;
  double l2_loads() const;
  double missing_in_l2() const;
  double pieces(double read) const;
  double single_sectors() const;
  double from_memory() const;
  double to_memory() const;
  double dram() const;
  bool fits_shared_memory() const;
  double left_of_updates() const;
  double updates() const;
  double update_rate() const;
  double l2() const;
  double partly_written() const;
  double clocks(double cycles_of_all) const;
  double waves() const;
  double once() const;
  double lines() const;
  Staged staged() const;
  double l1() const;
  double atomic_passes() const;
  double shared() const;
  double issue() const;
  double atomics() const;
  double global_wait(double together) const;
  double chain(double global, double shared, double cycles, double loads) const;
  double warps() const;
  double chain_of_all() const;
  double most_loads(double mean) const;
  double latency() const;
  double tail() const;

  const LaunchFigures& launch_;
  const DeviceRates& device_;
  const Coefficients& k_;
  double threads_ = 1, warps_per_block_ = 1, blocks_ = 1, resident_ = 1, multiprocessors_ = 1, rows_ = 1;
  double more_ = 1;  // blocks, where the cure is that
};

}  // namespace warpgrade
