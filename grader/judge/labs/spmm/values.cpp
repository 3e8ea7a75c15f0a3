#include "judge/labs/spmm/values.h"

#include <algorithm>
#include <numeric>

namespace warpgrade::spmm {
namespace {

// The levels whose columns, taken together, leave a row of `terms` or fewer with at most kMostTerms.
int levels_for(double terms) {
  int levels = 0;
  for (; terms >= kMostTerms; terms /= kLevelShare) ++levels;
  return levels;
}

}  // namespace

std::vector<ColumnKind> draw_column_kinds(std::uint64_t seed, int k, std::int64_t longest_row) {
  std::vector<ColumnKind> wanted;
  const int sparse_levels = levels_for(static_cast<double>(longest_row));
  const int exact_levels = levels_for(static_cast<double>(longest_row) / kUnitShare) + 1;
  // The highest levels come first: where columns are few, those that the longest rows need are there.
  for (int level = std::max(sparse_levels, exact_levels - 1); level >= 0; --level) {
    if (level < exact_levels) wanted.push_back(static_cast<ColumnKind>(kExact + level));
    if (level > 0 && level <= sparse_levels) wanted.push_back(static_cast<ColumnKind>(kSparse + level));
  }
  // Wide matrices get two columns of each.
  const std::size_t once = wanted.size();
  if (k >= 128)
    wanted.insert(wanted.end(), wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(once));
  wanted.resize(std::min<std::size_t>(wanted.size(), static_cast<std::size_t>(k) / 3));

  std::vector<ColumnKind> kinds(static_cast<std::size_t>(k), kDense);
  std::vector<int> places(kinds.size());
  std::iota(places.begin(), places.end(), 0);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::swap(places[i], places[i + random_bits(seed, i) % (places.size() - i)]);
    kinds[static_cast<std::size_t>(places[i])] = wanted[i];
  }
  return kinds;
}

}  // namespace warpgrade::spmm
