// Poisson-distributed numbers: below a mean of 2000 from a table of the distribution, by one draw a number;
// from there on from the normal distribution, as cuRAND does.
#pragma once
#include <cstdint>
#include <vector>

namespace warpgrade::curand {

inline constexpr double kNormalFrom = 2000;

class PoissonTable {
 public:
  // Kept while the mean stays.
  void prepare(double lambda);
  // `u`: 0 to 1, 1 included.
  uint32_t number(double u) const;

 private:
  double lambda_ = -1;
  uint32_t first_ = 0;
  std::vector<double> sums_;  // of the probabilities of first_ and of each next number
};

uint32_t poisson_of_normal(double normal, double lambda);

}  // namespace warpgrade::curand
