#include "judge/measure/interval.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <stdexcept>

namespace warpgrade {
namespace {

double sorted_median(const std::vector<double>& sorted) {
  const size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

// P(X <= k) for X ~ Binomial(n, p), 0 < p < 1.
double binomial_cdf(int k, int n, double p) {
  double sum = 0;
  for (int i = 0; i <= k; ++i) {
    sum += std::exp(std::lgamma(n + 1.0) - std::lgamma(i + 1.0) - std::lgamma(n - i + 1.0) + i * std::log(p) +
                    (n - i) * std::log1p(-p));
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
  while (rank + 1 <= n / 2 && binomial_cdf(rank, n, 0.5) <= 0.5 * (1 - confidence)) ++rank;
  const int low = std::max(rank, 1) - 1;
  // The whole range misses the median when all samples lie on one side of it: 2 * (1/2)^n.
  const double reached = rank == 0 ? 1 - std::ldexp(1.0, 1 - n) : confidence;
  return {sorted_median(samples), samples[low], samples[n - 1 - low], std::min(confidence, reached)};
}

double robust_deviation(const std::vector<double>& samples) {
  constexpr double kNormal = 1.4826;  // of a normal distribution: its deviation over its MAD
  const double middle = median(samples);
  std::vector<double> distances;
  for (const double sample : samples) distances.push_back(std::abs(sample - middle));
  return kNormal * median(std::move(distances));
}

double largest_share(int happened, int tried, double confidence) {
  if (happened >= tried) return 1;
  double low = 0, high = 1;
  for (int step = 0; step < 50; ++step) {
    const double middle = 0.5 * (low + high);
    (binomial_cdf(happened, tried, middle) > 1 - confidence ? low : high) = middle;
  }
  return high;
}

Spread spread_of(const std::vector<double>& values) {
  if (values.empty()) return {};
  const double n = static_cast<double>(values.size());
  Spread spread;
  spread.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  if (values.size() < 2) return spread;
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  spread.deviation = std::sqrt(squares / (n - 1));
  return spread;
}

// NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, column 0.975.
double student_t_95(int degrees_of_freedom) {
  constexpr double kTable[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                               2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                               2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  constexpr int kLast = static_cast<int>(std::size(kTable));
  if (degrees_of_freedom < 1) throw std::invalid_argument("t without degrees of freedom");
  return kTable[std::min(degrees_of_freedom, kLast) - 1];  // beyond the table a little too large
}

Interval geometric_interval(const std::vector<double>& values) {
  if (values.empty()) throw std::invalid_argument("interval of no values");
  std::vector<double> logarithms;
  for (const double value : values) logarithms.push_back(std::log(value));
  const Spread spread = spread_of(logarithms);
  const double middle = std::exp(spread.mean);
  const int n = static_cast<int>(values.size());
  if (n < 2) return {middle, middle, middle, 0};
  const double half = student_t_95(n - 1) * spread.deviation / std::sqrt(n);
  return {middle, std::exp(spread.mean - half), std::exp(spread.mean + half), 0.95};
}

}  // namespace warpgrade
