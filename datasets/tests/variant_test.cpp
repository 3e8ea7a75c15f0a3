// A matrix under other names: the same work, other bytes.
#include "warpgrade/datasets/variant.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

#include "test_support.h"
#include "warpgrade/datasets/generate.h"

namespace warpgrade::datasets {
namespace {

std::vector<int> sorted_degrees(const Csr& matrix, bool of_columns) {
  std::vector<int> degrees(static_cast<std::size_t>(of_columns ? matrix.cols : matrix.rows));
  for (int row = 0; row < matrix.rows; ++row) {
    for (int i = matrix.row_offsets[row]; i < matrix.row_offsets[row + 1]; ++i)
      ++degrees[of_columns ? matrix.columns[i] : row];
  }
  std::sort(degrees.begin(), degrees.end());
  return degrees;
}

Csr variant_of(const Csr& matrix, std::uint64_t seed, Relabelling kind = Relabelling::kNested) {
  return make_variant(matrix.cols, matrix.row_offsets, matrix.columns, seed, kind);
}

std::string hash_of(const Csr& matrix) {
  const TemporaryFolder folder;
  return write_csr(folder / "a.npz", matrix, {});
}

std::set<std::pair<int, int>> entries_of(const Csr& matrix) {
  std::set<std::pair<int, int>> entries;
  for (int row = 0; row < matrix.rows; ++row) {
    for (int i = matrix.row_offsets[row]; i < matrix.row_offsets[row + 1]; ++i)
      entries.emplace(row, matrix.columns[i]);
  }
  return entries;
}

TEST(Relabel, IsAPermutationForEveryCount) {
  for (int count : {0, 1, 2, 3, 7, 8, 9, 1000, 1023, 1025}) {
    for (const Relabelling kind : {Relabelling::kNested, Relabelling::kUniform}) {
      std::vector<int> ids = relabel(count, 5, kind);
      std::sort(ids.begin(), ids.end());
      std::vector<int> all(static_cast<std::size_t>(count));
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(ids, all) << count;
    }
  }
}

// What makes the nested kind keep locality: a block of 2^i ids stays together.
TEST(Relabel, NestedKeepsBlocksTogether) {
  const int count = 5000;
  const std::vector<int> ids = relabel(count, 9, Relabelling::kNested);
  for (int size = 2; size < count; size *= 2) {
    for (int first = 0; first + size <= count; first += size) {
      const auto [least, most] = std::minmax_element(ids.begin() + first, ids.begin() + first + size);
      ASSERT_EQ(*most - *least, size - 1) << "block of " << size << " at " << first;
    }
  }
  EXPECT_NE(ids, relabel(count, 10, Relabelling::kNested));
}

TEST(Variant, KeepsDegreesDiagonalSymmetryAndEveryEntry) {
  for (std::uint64_t trial = 0; trial < 40; ++trial) {
    const std::uint64_t seed = base_seed() + trial;
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Csr matrix = random_matrix(seed, 60, 60);
    const Csr variant = variant_of(matrix, seed);
    expect_valid(variant);
    EXPECT_EQ(variant.rows, matrix.rows);
    EXPECT_EQ(variant.cols, matrix.cols);
    EXPECT_EQ(sorted_degrees(variant, false), sorted_degrees(matrix, false));
    EXPECT_EQ(sorted_degrees(variant, true), sorted_degrees(matrix, true));
    if (matrix.rows != matrix.cols) continue;
    const std::vector<int> ids = relabel(matrix.rows, seed, Relabelling::kNested);
    std::set<std::pair<int, int>> expected;
    for (const auto& [row, column] : entries_of(matrix)) expected.emplace(ids[row], ids[column]);
    EXPECT_EQ(entries_of(variant), expected);
  }
}

TEST(Variant, AnotherSeedMakesOtherBytesAndTheSameSeedTheSame) {
  const Csr matrix = generate_powerlaw({2000, 12000, 0.6, 1});
  std::set<std::string> hashes = {hash_of(matrix)};
  for (std::uint64_t seed = 1; seed <= 8; ++seed) hashes.insert(hash_of(variant_of(matrix, seed)));
  EXPECT_EQ(hashes.size(), 9u);
  EXPECT_EQ(hash_of(variant_of(matrix, 3)), hash_of(variant_of(matrix, 3)));
}

// No row of the public file stays where it was with what it had, but by chance.
TEST(Variant, NothingOfThePublicFileStaysInPlace) {
  const Csr matrix = generate_powerlaw({4000, 40000, 0.5, 1});
  const Csr variant = variant_of(matrix, 77);
  int same = 0;
  for (int row = 0; row < matrix.rows; ++row) {
    const auto columns = [row](const Csr& m) {
      return std::vector<int>(m.columns.begin() + m.row_offsets[row],
                              m.columns.begin() + m.row_offsets[row + 1]);
    };
    same += columns(matrix) == columns(variant) ? 1 : 0;
  }
  EXPECT_LT(same, matrix.rows / 100);
}

// A band matrix stays within a band of its width's scale; a uniform order loses it.
TEST(Variant, NestedKeepsTheDistanceToTheDiagonalInScale) {
  Csr band;
  band.rows = band.cols = 1 << 14;
  band.row_offsets = {0};
  for (int row = 0; row < band.rows; ++row) {
    for (int column = std::max(0, row - 4); column <= std::min(band.cols - 1, row + 4); ++column) {
      band.columns.push_back(column);
      band.values.push_back(1);
    }
    band.row_offsets.push_back(static_cast<int>(band.columns.size()));
  }
  const auto share_within = [](const Csr& m, int width) {
    std::int64_t near = 0;
    for (const auto& [row, column] : entries_of(m)) near += std::abs(row - column) <= width ? 1 : 0;
    return static_cast<double>(near) / static_cast<double>(m.nnz());
  };
  EXPECT_GT(share_within(variant_of(band, 1), 16), 0.75);
  EXPECT_GT(share_within(variant_of(band, 1), 256), 0.97);
  EXPECT_LT(share_within(variant_of(band, 1, Relabelling::kUniform), 256), 0.2);
}

}  // namespace
}  // namespace warpgrade::datasets
