#include "profile/estimate.h"

namespace warpgrade {

// Fitted by scripts/validate-estimate --fit; see reports/published/estimate.md.
const Coefficients& fitted_coefficients() {
  static const Coefficients fitted{
      {"dram", 0.9},      {"write_back", 1.0}, {"l2", 0.9},          {"l2_store", 1.0},  {"l2_atomic", 2.0},
      {"l1_sector", 0.25}, {"l1_line", 1.0}, {"shared", 1.0},      {"shared_atomic", 1.0},
      {"fp32", 1.0},      {"integer", 0.6},    {"fp64", 1.0},        {"moves", 0.4},     {"special", 2.0},
      {"matrix", 4.0},    {"memory", 1.0},     {"barrier", 2.0},     {"scattered", 1.0}, {"wait_l1", 40},
      {"wait_l2", 250},   {"wait_dram", 350},  {"wait_shared", 30},  {"wait_plain", 1.0},
      {"wait_barrier", 30}, {"overlap", 1.0},  {"tail", 1.0},        {"waves", 1.0},     {"norm", 3.0},
      {"launch", 2.0},    {"run", 1.0},        {"fill", 0.9},
      {"interval_low", 0.5}, {"interval_high", 2.0}, {"ratio_low", 0.5}, {"ratio_high", 2.0}};
  return fitted;
}

}  // namespace warpgrade
