// Stand-ins and shapes: sizes exact, structure as promised, bytes the same everywhere.
#include "warpgrade/datasets/generate.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "test_support.h"
#include "warpgrade/datasets/catalog.h"

namespace warpgrade::datasets {
namespace {

std::string hash_of(const Csr& matrix) {
  const TemporaryFolder folder;
  return write_csr(folder / "a.npz", matrix, {});
}

void expect_distinct_columns(const Csr& matrix) {
  for (int row = 0; row < matrix.rows; ++row) {
    for (int i = matrix.row_offsets[row] + 1; i < matrix.row_offsets[row + 1]; ++i) {
      ASSERT_LT(matrix.columns[i - 1], matrix.columns[i]) << "row " << row;
    }
  }
}

std::vector<int> row_lengths(const Csr& matrix) {
  std::vector<int> lengths;
  for (int row = 0; row < matrix.rows; ++row)
    lengths.push_back(matrix.row_offsets[row + 1] - matrix.row_offsets[row]);
  return lengths;
}

std::vector<int> column_counts(const Csr& matrix) {
  std::vector<int> counts(static_cast<std::size_t>(matrix.cols));
  for (int column : matrix.columns) ++counts[column];
  return counts;
}

TEST(Powerlaw, HasExactlyTheRowsAndEntriesAskedFor) {
  for (const PowerlawSpec& spec :
       {PowerlawSpec{1, 0, 0.5, 1}, PowerlawSpec{1, 1, 0.5, 1}, PowerlawSpec{7, 49, 0.8, 1},
        PowerlawSpec{7, 48, 0.8, 2}, PowerlawSpec{500, 3001, 0.6, 3}, PowerlawSpec{5000, 29, 0.4, 4},
        PowerlawSpec{300, 80000, 0.3, 5}}) {
    SCOPED_TRACE(fmt::format("n {} nnz {} skew {}", spec.n, spec.nnz, spec.skew));
    const Csr matrix = generate_powerlaw(spec, 2);
    EXPECT_EQ(matrix.rows, spec.n);
    EXPECT_EQ(matrix.cols, spec.n);
    EXPECT_EQ(matrix.nnz(), spec.nnz);
    expect_valid(matrix);
    expect_distinct_columns(matrix);
  }
}

TEST(Powerlaw, IsTheSameForEveryNumberOfThreads) {
  const PowerlawSpec spec{20000, 150000, 0.6, 9};
  const std::string hash = hash_of(generate_powerlaw(spec, 1));
  for (const int threads : {0, 2, 3, 8, 33})
    EXPECT_EQ(hash_of(generate_powerlaw(spec, threads)), hash) << threads;
}

TEST(Powerlaw, DependsOnSeedAndSkew) {
  const std::string hash = hash_of(generate_powerlaw({1000, 5000, 0.5, 1}));
  EXPECT_NE(hash_of(generate_powerlaw({1000, 5000, 0.5, 2})), hash);
  EXPECT_NE(hash_of(generate_powerlaw({1000, 5000, 0.6, 1})), hash);
}

// The largest row of rank^-skew holds n^skew * (1 - skew) times the mean, and hub rows are hub columns.
TEST(Powerlaw, HasHubsInRowsAndColumns) {
  for (const double skew : {0.4, 0.6, 0.8}) {
    SCOPED_TRACE(skew);
    const Csr matrix = generate_powerlaw({20000, 200000, skew, 1});
    const auto lengths = row_lengths(matrix), counts = column_counts(matrix);
    const auto hub =
        static_cast<std::size_t>(std::max_element(lengths.begin(), lengths.end()) - lengths.begin());
    const double expected = 10 * std::pow(20000.0, skew) * (1 - skew);
    EXPECT_GT(lengths[hub], 0.7 * expected);
    EXPECT_LT(lengths[hub], 1.5 * expected);
    EXPECT_GT(counts[hub], 0.5 * expected);
    EXPECT_NE(hub, 0u) << "ranks are not scattered over the nodes";
  }
}

TEST(Powerlaw, ValuesAreEvenlySpreadAroundZero) {
  const Csr matrix = generate_powerlaw({1000, 100000, 0.5, 1});
  const double sum = std::accumulate(matrix.values.begin(), matrix.values.end(), 0.0);
  EXPECT_LT(std::abs(sum / 100000), 0.01);
  EXPECT_LE(*std::max_element(matrix.values.begin(), matrix.values.end()), 1.0f);
  EXPECT_GE(*std::min_element(matrix.values.begin(), matrix.values.end()), -1.0f);
}

TEST(Powerlaw, RefusesSizesThatCannotBe) {
  expect_error([] { generate_powerlaw({0, 0, 0.5, 1}); }, {"0 rows"});
  expect_error([] { generate_powerlaw({10, 101, 0.5, 1}); }, {"10 rows and 101 entries"});
  expect_error([] { generate_powerlaw({10, -1, 0.5, 1}); }, {"-1 entries"});
  expect_error([] { generate_powerlaw({100000, std::int64_t{3} << 30, 0.5, 1}); }, {"100000 rows"});
}

ShapeSpec shape(const char* name, int rows, int cols, int longest = 0) {
  return {name, rows, cols, 8, longest, 1};
}

TEST(Shapes, AreValidAndRepeatable) {
  for (const ShapeSpec& spec :
       {shape("uniform", 150, 130), shape("ragged", 137, 109), shape("empty-rows", 200, 150),
        shape("hub", 151, 400, 350), shape("single-row", 1, 300, 50), shape("single-column", 200, 1),
        shape("identity", 64, 64), shape("all-empty", 77, 50), shape("duplicates", 60, 400),
        shape("tall", 5000, 100), shape("band", 60, 900, 40)}) {
    SCOPED_TRACE(spec.shape);
    const Csr matrix = generate_shape(spec);
    EXPECT_EQ(matrix.rows, spec.rows);
    EXPECT_EQ(matrix.cols, spec.cols);
    expect_valid(matrix);
    if (spec.shape != "duplicates") expect_distinct_columns(matrix);
    EXPECT_EQ(hash_of(generate_shape(spec)), hash_of(matrix));
  }
}

TEST(Shapes, EachHasItsTrap) {
  const auto uniform = row_lengths(generate_shape(shape("uniform", 150, 130)));
  EXPECT_EQ(std::set<int>(uniform.begin(), uniform.end()), std::set<int>{8});
  const auto ragged = row_lengths(generate_shape(shape("ragged", 137, 109)));
  EXPECT_GT(std::set<int>(ragged.begin(), ragged.end()).size(), 8u);
  const auto sparse = row_lengths(generate_shape(shape("empty-rows", 200, 150)));
  EXPECT_GT(std::count(sparse.begin(), sparse.end(), 0), 120);
  EXPECT_LT(std::count(sparse.begin(), sparse.end(), 0), 200);
  const auto hub = row_lengths(generate_shape(shape("hub", 151, 400, 350)));
  EXPECT_EQ(*std::max_element(hub.begin(), hub.end()), 350);
  EXPECT_EQ(std::count_if(hub.begin(), hub.end(), [](int length) { return length > 20; }), 1);
  const Csr identity = generate_shape(shape("identity", 64, 64));
  std::vector<int> diagonal(64);
  std::iota(diagonal.begin(), diagonal.end(), 0);
  EXPECT_EQ(identity.columns, diagonal);
  EXPECT_EQ(generate_shape(shape("all-empty", 77, 50)).nnz(), 0);
  EXPECT_EQ(row_lengths(generate_shape(shape("single-row", 1, 300, 50))), std::vector<int>{50});
  const Csr column = generate_shape(shape("single-column", 200, 1));
  EXPECT_GT(column.nnz(), 0);
  EXPECT_LT(column.nnz(), 200);
  const auto tall = row_lengths(generate_shape(shape("tall", 5000, 100)));
  EXPECT_EQ(tall.back(), 1) << "the last rows are what 32-bit offsets miss";
}

TEST(Shapes, ABandStaysNearTheDiagonal) {
  const Csr band = generate_shape(shape("band", 60, 900, 40));
  for (int row = 0; row < band.rows; ++row) {
    for (int i = band.row_offsets[row]; i < band.row_offsets[row + 1]; ++i)
      EXPECT_LE(std::abs(band.columns[i] - row * 900 / 60), 2 * 40) << row;
  }
  const auto lengths = row_lengths(band);
  EXPECT_EQ(std::count(lengths.begin(), lengths.end(), 8), 59);
  EXPECT_EQ(*std::max_element(lengths.begin(), lengths.end()), 40);
}

TEST(Shapes, DuplicatesRepeatColumnsWithinARow) {
  const Csr matrix = generate_shape(shape("duplicates", 60, 400));
  int repeated = 0;
  for (int row = 0; row < matrix.rows; ++row) {
    for (int i = matrix.row_offsets[row] + 1; i < matrix.row_offsets[row + 1]; ++i) {
      repeated += matrix.columns[i - 1] == matrix.columns[i] ? 1 : 0;
    }
  }
  EXPECT_GT(repeated, 50);
}

TEST(Shapes, RefuseAnUnknownName) {
  expect_error([] { generate_shape(shape("spiral", 3, 3)); }, {"spiral"});
}

TEST(Shapes, IdentityOfMoreRowsThanColumnsStaysInRange) {
  try {
    expect_valid(generate_shape(shape("identity", 10, 5)));
  } catch (const DatasetError&) {
    SUCCEED();  // refusing is as good
  }
}

// Bytes that must never change under an unchanged kGeneratorVersion: baselines and records refer to them.
TEST(Generator, GoldenHashes) {
  ASSERT_STREQ(kGeneratorVersion, "powerlaw-1");
  const std::map<std::string, std::string> golden = {
#include "golden_hashes.inc"
  };
  ASSERT_FALSE(golden.empty());
  const Catalog catalog = Catalog::load(WARPGRADE_CATALOG);
  const TemporaryFolder folder;
  for (const auto& [name, hash] : golden) {
    EXPECT_EQ(CsrFile::open(catalog.ensure(name, folder.path())).content_hash(), hash) << name;
  }
}

}  // namespace
}  // namespace warpgrade::datasets
