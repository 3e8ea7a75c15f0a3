#include "scan/oracle.h"

#include <numeric>

namespace warpgrade::scan {

std::vector<int> running_sums(std::span<const int> in) {
  std::vector<int> sums(in.size());
  std::partial_sum(in.begin(), in.end(), sums.begin());
  return sums;
}

}  // namespace warpgrade::scan
