// An estimate of the time that a run would take on a named GPU, from the emulator's counters of its launches.
//
// A launch takes as long as the largest bound of its many warps, and a part of the others that does not
// overlap (a norm of all bounds but the tail), then what the busiest warp has left to do, and what it costs
// to start it. The bounds:
//   dram     bytes that the second level does not hold, read and written back
//   l2       bytes that the first level does not hold, and sectors of which requests write a part
//   l1       sectors and requests that a multiprocessor's first level serves
//   shared   passes through the banks of shared memory
//   issue    instructions by class, over what a multiprocessor issues a clock
//   atomics  updates of global memory: of the most wanted sector one after the other, and of all
//   latency  chains of dependent instructions, over the warps that are resident (Little's law)
//   tail     the chain of the busiest warp, which nothing hides
// Launches come one after the other. The numbers of a device: profile/rates. The coefficients: fitted to
// records of an H200 by scripts/validate-estimate.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "course/profile/device_rates.h"

namespace warpgrade {

// What is removed from the counters before the model runs again: one problem and no other. What its removal
// takes is added: equal work a list of pieces, and updates where pieces of a result meet; reuse and coalesced
// accesses passes through shared memory; contention a block's own copy. More blocks share the loads of few; what
// joins their results is not added. What a cure would make slower stays.
enum class Cure {
  nothing,
  coalescing,
  bank_conflicts,
  balance,
  occupancy,
  divergence,
  contention,
  reuse,
  blocks
};
const char* name_of(Cure cure);

using Coefficients = std::map<std::string, double>;
// Those in the tree.
const Coefficients& fitted_coefficients();

struct Estimate {
  double microseconds = 0;
  double launches = 0;                    // a run
  std::map<std::string, double> bounds;   // microseconds that each bound asks for, launches together
  std::map<std::string, double> binding;  // microseconds of the launches in which it is the largest
  std::map<std::string, double> kernels;  // microseconds
  std::string refusal;                    // why there is no estimate; empty: there is one

  // The largest part of `binding`.
  std::string bound() const;
};

// `groups`: counters.launch_groups of a record; `kernels`: the compiler's, for registers (may be empty).
Estimate estimate_run(const nlohmann::json& groups, const nlohmann::json& kernels, const DeviceRates& device,
                      const Coefficients& coefficients = fitted_coefficients(), Cure cure = Cure::nothing);

}  // namespace warpgrade
