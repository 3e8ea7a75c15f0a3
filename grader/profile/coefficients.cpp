#include "profile/estimate.h"

namespace warpgrade {

// Fitted by scripts/validate-estimate fit; see reports/published/estimate.md. Bandwidths are parts of the
// device's, issue slots are a PTX instruction's, waits are in cycles, launch and run in microseconds.
const Coefficients& fitted_coefficients() {
  static const Coefficients fitted{
      {"dram", 0.9001},        {"write_back", 0.8939},   {"l2", 1.355},          {"l2_store", 0.8034},
      {"l2_atomic", 1.896},    {"l2_miss", 2.7},         {"l1_sector", 0.2031},  {"l1_line", 0.9124},
      {"shared", 1},           {"shared_atomic", 1.4},   {"fp32", 0.9979},       {"integer", 0.777},
      {"fp64", 1.09},          {"moves", 0.4251},        {"special", 1},         {"matrix", 4},
      {"memory", 1.888},       {"barrier", 2.029},       {"scattered", 0.8747},  {"wait_l1", 34.37},
      {"wait_l2", 240.9},      {"wait_dram", 629},       {"wait_shared", 27.86}, {"wait_plain", 1.565},
      {"wait_barrier", 19.21}, {"overlap", 0.7232},      {"tail", 0.9986},       {"waves", 1.29},
      {"norm", 1.95},          {"launch", 2.695},        {"run", 0.9174},        {"fill", 0.9001},
      {"interval_low", 0.758}, {"interval_high", 1.537}, {"ratio_low", 0.693},   {"ratio_high", 1.444}};
  return fitted;
}

}  // namespace warpgrade
