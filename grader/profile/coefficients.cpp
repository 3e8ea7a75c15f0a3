#include "profile/estimate.h"

namespace warpgrade {

// Fitted by scripts/validate-estimate fit; see reports/published/estimate.md. Bandwidths are parts of the
// device's, issue slots are a PTX instruction's, waits are in cycles, launch and run in microseconds.
const Coefficients& fitted_coefficients() {
  static const Coefficients fitted{{"dram", 1},
                                   {"write_back", 0.836},
                                   {"l2", 1.718},
                                   {"l2_store", 0.6463},
                                   {"l2_atomic", 1.824},
                                   {"l1_sector", 0.1696},
                                   {"l1_line", 0.8469},
                                   {"shared", 1},
                                   {"shared_atomic", 1.381},
                                   {"fp32", 0.9963},
                                   {"integer", 0.8184},
                                   {"fp64", 1.048},
                                   {"moves", 0.4373},
                                   {"special", 1},
                                   {"matrix", 4},
                                   {"memory", 1.746},
                                   {"barrier", 1.855},
                                   {"scattered", 0.8553},
                                   {"wait_l1", 28.84},
                                   {"wait_l2", 223.8},
                                   {"wait_dram", 641.9},
                                   {"wait_shared", 29.68},
                                   {"wait_plain", 1.77},
                                   {"wait_barrier", 17.93},
                                   {"overlap", 0.745},
                                   {"tail", 1.002},
                                   {"waves", 1.156},
                                   {"norm", 2.094},
                                   {"launch", 2.574},
                                   {"run", 0.9905},
                                   {"fill", 0.9001},
                                   {"interval_low", 0.788},
                                   {"interval_high", 1.515},
                                   {"ratio_low", 0.687},
                                   {"ratio_high", 1.455}};
  return fitted;
}

}  // namespace warpgrade
