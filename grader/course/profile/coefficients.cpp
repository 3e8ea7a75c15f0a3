#include "course/profile/estimate.h"

namespace warpgrade {

// Fitted by scripts/validate-estimate fit; see reports/published/estimate.md. Bandwidths are parts of the
// device's, issue slots are a PTX instruction's, waits are in cycles, launch and run in microseconds.
const Coefficients& fitted_coefficients() {
  static const Coefficients fitted{{"dram", 1},
                                   {"write_back", 0.8398},
                                   {"l2", 1.765},
                                   {"l2_store", 0.667},
                                   {"l2_atomic", 1.792},
                                   {"l1_sector", 0.1835},
                                   {"l1_line", 0.8251},
                                   {"shared", 1},
                                   {"shared_atomic", 1.368},
                                   {"fp32", 0.998},
                                   {"integer", 0.8431},
                                   {"fp64", 1.033},
                                   {"moves", 0.4495},
                                   {"special", 1},
                                   {"matrix", 4},
                                   {"memory", 1.672},
                                   {"barrier", 1.738},
                                   {"scattered", 0.8564},
                                   {"wait_l1", 27.39},
                                   {"wait_l2", 220.4},
                                   {"wait_dram", 655.6},
                                   {"wait_shared", 29.68},
                                   {"wait_plain", 1.79},
                                   {"wait_barrier", 16.98},
                                   {"overlap", 0.7666},
                                   {"tail", 0.996},
                                   {"waves", 1.118},
                                   {"norm", 1.976},
                                   {"launch", 2.534},
                                   {"run", 1.051},
                                   {"fill", 0.9001},
                                   {"interval_low", 0.795},
                                   {"interval_high", 1.503},
                                   {"ratio_low", 0.689},
                                   {"ratio_high", 1.451}};
  return fitted;
}

}  // namespace warpgrade
