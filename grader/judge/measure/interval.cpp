#include "judge/measure/interval.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace warpgrade {
namespace {

double sorted_median(const std::vector<double>& sorted) {
  const size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

// P(X <= k) for X ~ Binomial(n, 1/2).
double binomial_half_cdf(int k, int n) {
  double sum = 0;
  for (int i = 0; i <= k; ++i) {
    sum +=
        std::exp(std::lgamma(n + 1.0) - std::lgamma(i + 1.0) - std::lgamma(n - i + 1.0) - n * std::log(2.0));
  }
  return sum;
}

}  // namespace

double median(std::vector<double> samples) {
  if (samples.empty()) throw std::invalid_argument("median of no samples");
  std::sort(samples.begin(), samples.end());
  return sorted_median(samples);
}

Interval median_interval(std::vector<double> samples, double confidence) {
  if (samples.empty()) throw std::invalid_argument("interval of no samples");
  std::sort(samples.begin(), samples.end());
  const int n = static_cast<int>(samples.size());
  // The largest rank r with P(X < r) <= (1 - confidence) / 2: the interval is [x_(r), x_(n + 1 - r)],
  // ranks from 1.
  int rank = 0;
  while (rank + 1 <= n / 2 && binomial_half_cdf(rank, n) <= 0.5 * (1 - confidence)) ++rank;
  const int low = std::max(rank, 1) - 1;
  // The whole range misses the median when all samples lie on one side of it: 2 * (1/2)^n.
  const double reached = rank == 0 ? 1 - std::ldexp(1.0, 1 - n) : confidence;
  return {sorted_median(samples), samples[low], samples[n - 1 - low], std::min(confidence, reached)};
}

}  // namespace warpgrade
