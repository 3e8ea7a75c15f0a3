#include "histogram/oracle.h"

#include <stdexcept>
#include <string>

namespace warpgrade::histogram {

std::vector<unsigned> count(std::span<const int> ids, int nodes) {
  std::vector<unsigned> counts((static_cast<std::size_t>(nodes) + kBinWidth - 1) / kBinWidth);
  for (const int id : ids) {
    if (id < 0 || id >= nodes)
      throw std::out_of_range("id " + std::to_string(id) + " is not in [0, " + std::to_string(nodes) + ")");
    ++counts[id / kBinWidth];
  }
  return counts;
}

}  // namespace warpgrade::histogram
