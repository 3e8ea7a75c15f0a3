#include "judge/labs/spmm/precision.h"

#include <cmath>

namespace warpgrade::spmm {

// The largest rms that sequential sums reach with a probability of 10^-12, by Chernoff's bound over their
// measured law (0.42 in the rms, the exponential tail above): 2.48 of 16 cells, 1.82 of 32, 1.03 of 128, 0.58
// of 1024, 0.44 of 65536. This curve lies above all of them and ends at 0.8: programs that hold values
// in parts round more often and reach 0.58. precision_test.cpp checks it.
double rms_limit(std::int64_t count) {
  return std::sqrt(0.64 + 80 * std::pow(static_cast<double>(count), -0.9));
}

// A cell lies beyond its bound with a probability below 10^-9; more than this many do with one below 10^-12.
std::int64_t allowed_outliers(std::int64_t cells) {
  const double mean = 1e-9 * static_cast<double>(cells);
  double term = std::exp(-mean);
  std::int64_t allowed = 0;
  // The upper tail is bounded by the next term over 1 - mean / (m + 2): a geometric series.
  for (;; ++allowed) {
    const double next = term * mean / static_cast<double>(allowed + 1);
    const double ratio = mean / static_cast<double>(allowed + 2);
    if (ratio < 1 && next / (1 - ratio) < 1e-12) return allowed;
    term = next;
  }
}

}  // namespace warpgrade::spmm
