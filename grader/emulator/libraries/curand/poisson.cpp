#include "curand/poisson.h"

#include <algorithm>
#include <cmath>

namespace warpgrade::curand {

void PoissonTable::prepare(double lambda) {
  if (lambda == lambda_) return;
  lambda_ = lambda;
  // Beyond this distance from the mean there is less than 2^-60.
  const double reach = 10 * std::sqrt(lambda) + 30;
  first_ = static_cast<uint32_t>(std::max(0.0, std::floor(lambda - reach)));
  const auto last = static_cast<uint32_t>(std::ceil(lambda + reach));
  sums_.clear();
  double sum = 0;
  for (uint32_t k = first_; k <= last; ++k) {
    sum += std::exp(k * std::log(lambda) - lambda - std::lgamma(k + 1.0));
    sums_.push_back(sum);
  }
}

uint32_t PoissonTable::number(double u) const {
  const auto found = std::lower_bound(sums_.begin(), sums_.end() - 1, u);
  return first_ + static_cast<uint32_t>(found - sums_.begin());
}

uint32_t poisson_of_normal(double normal, double lambda) {
  return static_cast<uint32_t>(std::sqrt(lambda) * normal + lambda + 0.5);
}

}  // namespace warpgrade::curand
