#include "profile/estimate.h"

namespace warpgrade {

// Fitted by scripts/validate-estimate --fit; see reports/published/estimate.md.
const Coefficients& fitted_coefficients() {
  static const Coefficients fitted{
      {"dram", 0.7712},         {"write_back", 0.7173}, {"l2", 1.24},          {"l2_store", 0.8606},
      {"l2_atomic", 2.026},     {"l1_sector", 0.4481},  {"l1_line", 1},        {"shared", 0.8783},
      {"shared_atomic", 1},     {"fp32", 0.9318},       {"integer", 0.7312},   {"fp64", 1.035},
      {"moves", 0.3998},        {"special", 2},         {"matrix", 4},         {"memory", 1.022},
      {"barrier", 1.883},       {"scattered", 1.043},   {"wait_l1", 39.26},    {"wait_l2", 236.1},
      {"wait_dram", 773.7},     {"wait_shared", 22.37}, {"wait_plain", 0.981}, {"wait_barrier", 23.24},
      {"overlap", 1.243},       {"tail", 0.9461},       {"waves", 1.105},      {"norm", 1.878},
      {"launch", 2.296},        {"run", 0.7983},        {"fill", 0.9},         {"interval_low", 0.694},
      {"interval_high", 1.625}, {"ratio_low", 0.613},   {"ratio_high", 1.632}};
  return fitted;
}

}  // namespace warpgrade
