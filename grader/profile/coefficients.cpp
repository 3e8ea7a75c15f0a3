#include "profile/estimate.h"

namespace warpgrade {

// Fitted by scripts/validate-estimate fit; see reports/published/estimate.md. Bandwidths are parts of the
// device's, issue slots are a PTX instruction's, waits are in cycles, launch and run in microseconds.
const Coefficients& fitted_coefficients() {
  static const Coefficients fitted{
      {"dram", 0.9414},          {"write_back", 0.8907}, {"l2", 1.249},         {"l2_store", 0.8168},
      {"l2_atomic", 1.956},      {"l1_sector", 0.2663},  {"l1_line", 0.9393},   {"shared", 0.8068},
      {"shared_atomic", 0.8894}, {"fp32", 0.9979},       {"integer", 0.749},    {"fp64", 1.074},
      {"moves", 0.4127},         {"special", 1.998},     {"matrix", 4},         {"memory", 1.445},
      {"barrier", 1.905},        {"scattered", 0.9138},  {"wait_l1", 38.02},    {"wait_l2", 248.1},
      {"wait_dram", 617.8},      {"wait_shared", 25.34}, {"wait_plain", 1.344}, {"wait_barrier", 18.87},
      {"overlap", 0.7187},       {"tail", 1.024},        {"waves", 1.258},      {"norm", 1.953},
      {"launch", 2.488},         {"run", 0.8342},        {"fill", 0.9001},      {"interval_low", 0.692},
      {"interval_high", 1.67},   {"ratio_low", 0.647},   {"ratio_high", 1.546}};
  return fitted;
}

}  // namespace warpgrade
