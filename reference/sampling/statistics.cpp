#include "sampling/statistics.h"

#include <algorithm>
#include <cmath>

namespace warpgrade::sampling {
namespace {

// x ln(x / mean) - (x - mean): what one category adds to n * KL; terms x - mean cancel in the sum and keep
// small deviations exact.
double divergence_term(double x, double mean) {
  if (x <= 0) return mean;
  const double off = (x - mean) / mean;
  return mean * ((1 + off) * std::log1p(off) - off);
}

}  // namespace

double divergence_from_uniform(std::span<const std::uint64_t> counts) {
  double total = 0;
  for (const std::uint64_t count : counts) total += static_cast<double>(count);
  if (total == 0) return 0;
  const double mean = total / static_cast<double>(counts.size());
  double divergence = 0;
  for (const std::uint64_t count : counts) divergence += divergence_term(static_cast<double>(count), mean);
  return divergence;
}

double log_tail_of_divergence(double divergence, int freedom) {
  if (!(divergence > freedom)) return 0;
  return freedom * (1 + std::log(divergence / freedom)) - divergence;
}

double log_tail_of_hits(double hits, double trials, double expected) {
  if (!(trials > 0)) return 0;
  if (expected <= 0) return hits > 0 ? -HUGE_VAL : 0;
  if (expected >= trials) return hits < trials ? -HUGE_VAL : 0;
  const double divergence =
      divergence_term(hits, expected) + divergence_term(trials - hits, trials - expected);
  const double log_tail = std::log(2.0) - divergence;
  return log_tail < 0 ? log_tail : 0;
}

double log_tail_of_evenness(std::span<const std::uint64_t> counts) {
  double total = 0, furthest = 0;
  for (const std::uint64_t count : counts) total += static_cast<double>(count);
  const auto categories = static_cast<double>(counts.size());
  const double mean = total / categories;
  for (const std::uint64_t count : counts)
    furthest = std::max(furthest, std::abs(static_cast<double>(count) - mean));
  const double most_likely =
      std::lgamma(total + 1) - categories * std::lgamma(mean + 1) - total * std::log(categories);
  return std::min(0.0, (categories - 1) * std::log(2 * furthest + 1) + most_likely);
}

bool rejects(double log_tail) {
  return log_tail < std::log(kTestAlarm);
}

double detectable_divergence(int freedom) {
  double low = freedom, high = freedom + 1e6;
  while (high - low > 1e-6) {
    const double middle = (low + high) / 2;
    (rejects(log_tail_of_divergence(middle, freedom)) ? high : low) = middle;
  }
  // The statistic of biased draws has mean n KL + freedom / 2 and a standard deviation of about sqrt(2 n KL).
  return high + 1.3 * std::sqrt(2 * high);
}

}  // namespace warpgrade::sampling
