// What a check says over all cells: outliers, and root mean squares by row length.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "judge/labs/spmm/spmm_buffers.h"

namespace warpgrade::spmm {
namespace {

constexpr double kTypicalRms = 0.4;  // of an honest sum, over u sum|a||b|

double rms(const LengthGroup& group) {
  return std::sqrt(group.squares / static_cast<double>(group.count));
}

}  // namespace

void settle(Check& check) {
  if (check.outliers > allowed_outliers(check.cells_checked)) check.bad_cells += check.outliers;
  for (int group = 0; group < kLengthGroups; ++group) {
    const LengthGroup& errors = check.lengths[group];
    if (errors.count == 0) continue;
    const double over = rms(errors) / rms_limit(errors.count);
    check.max_rms_over_limit = std::max(check.max_rms_over_limit, over);
    if (!(over <= 1)) check.imprecise.push_back(group);
  }
}

std::vector<double> draw_x(std::uint64_t seed, int k) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<double> x(static_cast<std::size_t>(k));
  double square = 0;
  for (double& value : x) {
    value = normal(generator);
    square += value * value;
  }
  for (double& value : x) value *= std::sqrt(k / square);
  return x;
}

std::string describe_precision(const Check& check) {
  if (check.imprecise.empty()) return "";
  double worst = 0;
  for (const int group : check.imprecise) worst = std::max(worst, rms(check.lengths[group]) / kTypicalRms);
  const int first = check.imprecise.front(), last = check.imprecise.back();
  bool to_the_end = true, from_the_start = true;
  for (int group = 0; group < kLengthGroups; ++group) {
    if (check.lengths[group].count == 0) continue;
    if (group > last) to_the_end = false;
    if (group < first) from_the_start = false;
  }
  const std::int64_t low = std::int64_t{1} << first, high = (std::int64_t{2} << last) - 1;
  std::string rows = "rows of all lengths";
  if (!from_the_start)
    rows = to_the_end ? fmt::format("rows of {} entries or more", low)
                      : fmt::format("rows of {} to {} entries", low, high);
  else if (!to_the_end)
    rows = fmt::format("rows of at most {} entries", high);
  return fmt::format(
      "{} have errors {:.0f} times as large as fp32 gives (root mean square): is a value or a sum stored in "
      "TF32, BF16, FP16 or another 16-bit type?",
      rows, worst);
}

}  // namespace warpgrade::spmm
