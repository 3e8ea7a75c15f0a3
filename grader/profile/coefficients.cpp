#include "profile/estimate.h"

namespace warpgrade {

// Fitted by scripts/validate-estimate --fit; see reports/published/estimate.md.
const Coefficients& fitted_coefficients() {
  static const Coefficients fitted{
      {"dram", 0.9688},         {"write_back", 0.613}, {"l2", 1.855},          {"l2_store", 0.7966},
      {"l2_atomic", 2.067},     {"l1_sector", 0.5051},  {"l1_line", 1},        {"shared", 0.6493},
      {"shared_atomic", 0.9213},     {"fp32", 0.82},       {"integer", 1.736},   {"fp64", 1.092},
      {"moves", 0.3787},        {"special", 1.999},         {"matrix", 4},         {"memory", 0.9305},
      {"barrier", 1.677},       {"scattered", 1.094},   {"wait_l1", 37.77},    {"wait_l2", 201.7},
      {"wait_dram", 640.6},     {"wait_shared", 19.6}, {"wait_plain", 0.9962}, {"wait_barrier", 19.56},
      {"overlap", 0.5536},       {"tail", 1.085},       {"waves", 1.794},      {"norm", 1.563},
      {"launch", 2.238},        {"run", 0.8632},        {"fill", 0.9},         {"interval_low", 0.641},
      {"interval_high", 1.683}, {"ratio_low", 0.516},   {"ratio_high", 1.94}};
  return fitted;
}

}  // namespace warpgrade
