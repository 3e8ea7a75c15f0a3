#include "profile/estimate.h"

namespace warpgrade {

// Fitted by scripts/validate-estimate fit; see reports/published/estimate.md. Bandwidths are parts of the
// device's, issue slots are a PTX instruction's, waits are in cycles, launch and run in microseconds.
const Coefficients& fitted_coefficients() {
  static const Coefficients fitted{
      {"dram", 0.9834},         {"write_back", 0.8855}, {"l2", 1.131},        {"l2_store", 0.8402},
      {"l2_atomic", 2.015},     {"l1_sector", 0.4597},  {"l1_line", 1},       {"shared", 0.9014},
      {"shared_atomic", 1},     {"fp32", 0.9966},       {"integer", 0.7258},  {"fp64", 1.069},
      {"moves", 0.4053},        {"special", 2},         {"matrix", 4},        {"memory", 1.257},
      {"barrier", 1.921},       {"scattered", 1.031},   {"wait_l1", 38.97},   {"wait_l2", 249.2},
      {"wait_dram", 646.2},     {"wait_shared", 22.83}, {"wait_plain", 1.21}, {"wait_barrier", 20.95},
      {"overlap", 0.7493},      {"tail", 1.07},         {"waves", 1.187},     {"norm", 1.825},
      {"launch", 2.337},        {"run", 0.7561},        {"fill", 0.9},        {"interval_low", 0.742},
      {"interval_high", 1.797}, {"ratio_low", 0.502},   {"ratio_high", 1.992}};
  return fitted;
}

}  // namespace warpgrade
