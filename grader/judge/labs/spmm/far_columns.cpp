#include "judge/labs/spmm/far_columns.h"

#include <algorithm>
#include <cstdint>

#include "judge/measure/random.h"

namespace warpgrade::spmm {
namespace {

constexpr int kRows = 96, kLongestRow = 12, kSpread = 200;
constexpr std::int64_t kFloatsFrom =
    (std::int64_t{1} << 31) / kFarColumnsK;  // columns whose offset in floats passes 2^31
constexpr std::int64_t kBytesFrom = (std::int64_t{1} << 29) / kFarColumnsK;  // in bytes
constexpr int kCols = static_cast<int>(kFloatsFrom) + kSpread;
constexpr std::uint64_t kSeed = 20261;

}  // namespace

datasets::Csr far_columns_matrix() {
  constexpr std::int64_t kStarts[] = {kFloatsFrom, kBytesFrom, 0};
  datasets::Csr a;
  a.rows = kRows;
  a.cols = kCols;
  a.row_offsets = {0};
  for (std::uint64_t row = 0; row < kRows; ++row) {
    std::vector<int> columns;
    const std::uint64_t length = random_bits(kSeed, row) % (kLongestRow + 1);
    for (std::uint64_t entry = 0; entry < length; ++entry) {
      const std::uint64_t random = random_bits(kSeed + 1, row * kLongestRow + entry);
      columns.push_back(static_cast<int>(kStarts[entry % 3] + static_cast<std::int64_t>(random % kSpread)));
    }
    std::sort(columns.begin(), columns.end());
    a.columns.insert(a.columns.end(), columns.begin(), columns.end());
    a.row_offsets.push_back(static_cast<int>(a.columns.size()));
  }
  return a;
}

}  // namespace warpgrade::spmm
