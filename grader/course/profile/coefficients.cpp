#include "course/profile/estimate.h"

namespace warpgrade {

// Fitted by scripts/validate-estimate fit; see reports/published/estimate.md. Bandwidths are parts of the
// device's, issue slots are a PTX instruction's, waits are in cycles, launch and run in microseconds.
const Coefficients& fitted_coefficients() {
  static const Coefficients fitted{{"dram", 1},
                                   {"write_back", 0.815},
                                   {"l2", 1.838},
                                   {"l2_store", 0.6362},
                                   {"l2_atomic", 1.754},
                                   {"l1_sector", 0.1916},
                                   {"l1_line", 0.8136},
                                   {"shared", 1},
                                   {"shared_atomic", 1.327},
                                   {"fp32", 1.004},
                                   {"integer", 0.9107},
                                   {"fp64", 0.9945},
                                   {"moves", 0.4972},
                                   {"special", 1},
                                   {"matrix", 4},
                                   {"memory", 1.603},
                                   {"barrier", 1.605},
                                   {"scattered", 0.8619},
                                   {"wait_l1", 31},
                                   {"wait_l2", 226.3},
                                   {"wait_dram", 688.2},
                                   {"wait_shared", 24.06},
                                   {"wait_plain", 2.637},
                                   {"wait_barrier", 14.84},
                                   {"overlap", 0.8895},
                                   {"tail", 0.9082},
                                   {"waves", 0.9734},
                                   {"norm", 1.821},
                                   {"launch", 2.358},
                                   {"run", 1.218},
                                   {"fill", 0.9002},
                                   {"interval_low", 0.709},
                                   {"interval_high", 1.467},
                                   {"ratio_low", 0.663},
                                   {"ratio_high", 1.508}};
  return fitted;
}

}  // namespace warpgrade
