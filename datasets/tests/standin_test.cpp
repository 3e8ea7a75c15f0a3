// Stand-ins: sizes exact, degrees as asked for, columns where they were promised, the same bytes for every
// number of threads.
#include "warpgrade/datasets/standin.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>
#include <set>

#include "test_support.h"
#include "warpgrade/datasets/catalog.h"

namespace warpgrade::datasets {
namespace {

StandInSpec plain(int n, std::int64_t nnz, std::int64_t most, double tail = 0.7) {
  StandInSpec spec;
  spec.n = n;
  spec.nnz = nnz;
  spec.row_degrees = power_curve(n, nnz, most, 0, tail);
  return spec;
}

// Any spec that check() accepts.
StandInSpec random_spec(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
  };
  const int n = static_cast<int>(1 + below(3000));
  const std::int64_t most = 1 + below(n), nnz = below(std::min<std::int64_t>(most * n, 60000) + 1);
  StandInSpec spec = plain(n, nnz, most, 0.3 + 0.1 * static_cast<double>(below(10)));
  spec.seed = seed;
  if (below(2) == 0) spec.column_degrees = power_curve(n, nnz, most, 0, 0.9);
  int left = kWholeShare;
  for (std::int64_t buckets = below(13); buckets > 0; --buckets) {
    spec.near.push_back(static_cast<int>(below(left / 3)));
    left -= spec.near.back();
  }
  for (std::int64_t levels = below(3); levels > 0; --levels) {
    spec.communities.push_back({static_cast<int>(below(13)), static_cast<int>(below(left / 2))});
    left -= spec.communities.back().share;
  }
  spec.scattered = below(2) == 0;
  if (below(2) == 0) {
    spec.copied = static_cast<int>(below(kWholeShare + 1));
    spec.log2_group = static_cast<int>(below(8));
    spec.log2_pool = static_cast<int>(1 + below(10));
  }
  if (below(2) == 0) {
    spec.alike = static_cast<int>(below(kWholeShare + 1));
    spec.log2_run = static_cast<int>(below(8));
  }
  return spec;
}

std::string hash_of(const Csr& matrix) {
  const TemporaryFolder folder;
  return write_csr(folder / "a.npz", matrix, {"", "", kStandInVersion});
}

std::vector<int> row_lengths(const Csr& matrix) {
  std::vector<int> lengths(static_cast<std::size_t>(matrix.rows));
  for (int row = 0; row < matrix.rows; ++row)
    lengths[row] = matrix.row_offsets[row + 1] - matrix.row_offsets[row];
  return lengths;
}

double share_of(const Csr& matrix, auto&& is_so) {
  std::int64_t count = 0;
  for (int row = 0; row < matrix.rows; ++row) {
    for (int i = matrix.row_offsets[row]; i < matrix.row_offsets[row + 1]; ++i)
      count += is_so(row, matrix.columns[i]) ? 1 : 0;
  }
  return static_cast<double>(count) / static_cast<double>(matrix.nnz());
}

TEST(StandIn, AnyParametersMakeSortedDistinctColumnsAndTheExactSize) {
  for (std::uint64_t trial = 0; trial < 60; ++trial) {
    const std::uint64_t seed = base_seed() + trial;
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const StandInSpec spec = random_spec(seed);
    const Csr matrix = generate_standin(spec, 2);
    EXPECT_EQ(matrix.rows, spec.n);
    EXPECT_EQ(matrix.nnz(), spec.nnz);
    expect_valid(matrix);
    for (int row = 0; row < matrix.rows; ++row) {
      for (int i = matrix.row_offsets[row] + 1; i < matrix.row_offsets[row + 1]; ++i)
        ASSERT_LT(matrix.columns[i - 1], matrix.columns[i]) << "row " << row;
    }
    EXPECT_EQ(spec_from_json(to_json(spec), "text"), spec);
  }
}

TEST(StandIn, IsTheSameForEveryNumberOfThreads) {
  for (std::uint64_t trial = 0; trial < 6; ++trial) {
    const std::uint64_t seed = base_seed() + 100 + trial;
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const StandInSpec spec = random_spec(seed);
    const std::string hash = hash_of(generate_standin(spec, 1));
    for (const int threads : {0, 2, 3, 7})
      EXPECT_EQ(hash_of(generate_standin(spec, threads)), hash) << threads;
  }
}

TEST(StandIn, HasTheLongestRowAndTheDegreesOfItsCurve) {
  const StandInSpec spec = plain(20000, 300000, 2500);
  std::vector<int> lengths = row_lengths(generate_standin(spec));
  EXPECT_EQ(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}), 300000);
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  EXPECT_EQ(lengths.front(), 2500);
  for (const auto& [rank, degree] : spec.row_degrees.points) {
    if (degree < 20) continue;
    EXPECT_NEAR(lengths[rank], static_cast<double>(degree), 0.05 * static_cast<double>(degree)) << rank;
  }
}

TEST(StandIn, ACurveOfRealDegreesIsFollowed) {
  const std::vector<int> degrees = {0, 0, 3, 1, 9, 2, 2, 0, 1, 1, 40, 5};
  StandInSpec spec;
  spec.n = static_cast<int>(degrees.size());
  spec.row_degrees = curve_of({0, 0, 3, 1, 9, 2, 2, 0, 1, 1, 12, 5});
  spec.nnz = 36;
  std::vector<int> lengths = row_lengths(generate_standin(spec));
  std::sort(lengths.begin(), lengths.end());
  EXPECT_EQ(lengths, (std::vector<int>{0, 0, 0, 1, 1, 1, 2, 2, 3, 5, 9, 12}));
}

TEST(StandIn, ColumnsOfUndirectedGraphsFollowTheirRows) {
  const Csr matrix = generate_standin(plain(5000, 60000, 900));
  const std::vector<int> lengths = row_lengths(matrix);
  std::vector<int> counts(5000);
  for (const int column : matrix.columns) ++counts[column];
  for (int node = 0; node < 5000; ++node) {
    if (lengths[node] < 100) continue;
    EXPECT_NEAR(counts[node], lengths[node], 0.3 * lengths[node] + 20) << node;
  }
}

TEST(StandIn, SharesNearTheDiagonalAreThoseAskedFor) {
  StandInSpec spec = plain(50000, 400000, 60, 0.4);
  spec.near = {kWholeShare / 20, 0, 0,
               kWholeShare / 2};  // the diagonal (one entry a row at most), 4 to 7 away
  const Csr matrix = generate_standin(spec);
  EXPECT_NEAR(share_of(matrix, [](int row, int column) { return row == column; }), 0.042, 0.01);
  // 8 columns lie there: rows of more draw the rest elsewhere.
  EXPECT_NEAR(share_of(matrix, [](int r, int c) { return std::abs(r - c) >= 4 && std::abs(r - c) < 8; }),
              0.42, 0.06);
  EXPECT_LT(share_of(matrix, [](int r, int c) { return std::abs(r - c) >= 8 && std::abs(r - c) < 64; }),
            0.01);
}

TEST(StandIn, CommunitiesSideBySideHoldTheirShare) {
  StandInSpec spec = plain(50000, 400000, 60, 0.4);
  spec.scattered = false;
  spec.communities = {{9, kWholeShare / 2}};
  const auto in_one = [](int row, int column) { return row >> 9 == column >> 9; };
  EXPECT_NEAR(share_of(generate_standin(spec), in_one), 0.5 + 0.5 * 512 / 50000, 0.02);
  spec.scattered = true;
  EXPECT_LT(share_of(generate_standin(spec), in_one), 0.02);
}

TEST(StandIn, RowsOfAGroupShareTheColumnsOfTheirPool) {
  StandInSpec spec = plain(20000, 200000, 40, 0.3);
  const auto distinct_a_group = [](const Csr& matrix) {
    double sum = 0;
    int groups = 0;
    for (int first = 0; first + 32 <= matrix.rows; first += 32, ++groups) {
      const std::set<int> columns(matrix.columns.begin() + matrix.row_offsets[first],
                                  matrix.columns.begin() + matrix.row_offsets[first + 32]);
      sum += static_cast<double>(columns.size()) / 320;
    }
    return sum / groups;
  };
  EXPECT_GT(distinct_a_group(generate_standin(spec)), 0.9);
  spec.copied = kWholeShare * 3 / 4;
  spec.log2_group = 5;
  spec.log2_pool = 5;
  EXPECT_LT(distinct_a_group(generate_standin(spec)), 0.5);
}

TEST(StandIn, RowsOfARunAreAlikeInLengthWithTheSameLengthsOverall) {
  StandInSpec spec = plain(20000, 200000, 700);
  std::vector<int> apart = row_lengths(generate_standin(spec));
  spec.alike = kWholeShare * 9 / 10;
  std::vector<int> runs = row_lengths(generate_standin(spec));
  const auto longest_of_runs = [](const std::vector<int>& lengths) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < lengths.size(); i += 32)
      sum += *std::max_element(lengths.begin() + static_cast<int>(i),
                               lengths.begin() + static_cast<int>(i) + 32);
    return sum;
  };
  EXPECT_LT(3 * longest_of_runs(runs), 2 * longest_of_runs(apart));
  std::sort(apart.begin(), apart.end());
  std::sort(runs.begin(), runs.end());
  EXPECT_EQ(runs, apart);
}

// The names that records were published under keep their meaning; the newer stand-ins are NAME@v2.
TEST(StandIn, EveryPublishedGraphHasASecondGenerationBesideTheFirst) {
  const Catalog catalog = Catalog::load(WARPGRADE_CATALOG);
  const TemporaryFolder folder;
  int graphs = 0;
  for (const DatasetInfo& info : catalog.all()) {
    if (!info.outline) continue;
    SCOPED_TRACE(info.name);
    ++graphs;
    const DatasetInfo full = catalog.find(info.name + "@v2");
    ASSERT_TRUE(full.standin.has_value());
    EXPECT_EQ(full.kind, "stand-in");
    EXPECT_FALSE(full.powerlaw.has_value());
    EXPECT_EQ(full.standin->nnz, info.nnz);
    EXPECT_EQ(full.standin->row_degrees.points.front().degree, info.outline->max_degree);
    EXPECT_NO_THROW(check(*full.standin));
    const CsrFile made = CsrFile::open(catalog.ensure(info.name + "@v2@0.002", folder.path()));
    EXPECT_EQ(made.origin().generator, kStandInVersion);
    EXPECT_EQ(made.rows(), static_cast<int>(std::lround(static_cast<double>(info.n) * 0.002)));
    if (info.kind == "real") continue;  // that name alone is the graph itself
    EXPECT_EQ(CsrFile::open(catalog.ensure(info.name + "@0.002", folder.path())).origin().generator,
              std::string("powerlaw-1"));
  }
  EXPECT_EQ(graphs, 15);
  expect_error([&] { catalog.find("cora@v2"); }, {"second generation"});
}

TEST(StandIn, ADirectedGraphsHubColumnIsAsLongAsTheCatalogueSaysBesideItsCommunities) {
  const Catalog catalog = Catalog::load(WARPGRADE_CATALOG);
  const DatasetInfo info = catalog.find("web-Stanford@v2");
  const Csr matrix = generate_standin(*info.standin);
  std::vector<int> counts(static_cast<std::size_t>(matrix.cols), 0);
  for (const int column : matrix.columns) ++counts[column];
  const auto wanted = static_cast<double>(info.outline->max_column_degree);
  EXPECT_NEAR(*std::max_element(counts.begin(), counts.end()), wanted, 0.1 * wanted);
}

// Bytes that must never change under an unchanged kStandInVersion.
TEST(StandIn, GoldenHashes) {
  ASSERT_STREQ(kStandInVersion, "standin-2");
  EXPECT_EQ(hash_of(generate_standin(random_spec(424242))),
            "bf3345d4007511cdd0f10a9b23014735394ccb86e1fdd82e75f656013eb92a82");
  EXPECT_EQ(hash_of(generate_standin(random_spec(424243))),
            "319846ef20c0ab4b624e993606927ffc50a58e8985e1ef868b3bac72965d7dd8");
}

TEST(StandIn, ParametersThatAreNoneAreNamed) {
  const std::string good = to_json(plain(100, 300, 50, 0.7));
  ASSERT_NO_THROW(spec_from_json(good, "g.json"));
  const auto with = [&](const std::string& before, const std::string& after) {
    std::string text = good;
    const std::size_t at = text.find(before);
    EXPECT_NE(at, std::string::npos) << before << " in " << good;
    return text.replace(at, before.size(), after);
  };
  const auto refused = [](const std::string& text, const std::vector<std::string>& fragments) {
    expect_error([&] { spec_from_json(text, "g.json"); }, fragments);
  };
  refused(with("\"n\":100", "\"n\":4294967396"), {"g.json: n: ", "from 0 to 2147483647, got 4294967396"});
  refused(with("\"n\":100", "\"n\":100.5"), {"n: expected a whole number"});
  refused(with("\"n\":100", "\"n\":true"), {"n: expected a whole number"});
  refused(with("\"nnz\":300", "\"nnz\":-300"), {"nnz: expected", "got -300"});
  refused(with("\"seed\":1", "\"seed\":18446744073709551616"), {"seed: expected"});
  refused(with("\"scattered\"", "\"scatered\""), {"g.json: there is no \"scattered\""});
  refused(with("\"scattered\"", "\"more\":1,\"scattered\""), {"\"more\" is no parameter"});
  refused(with("standin-2", "standin-1"), {"generator: expected standin-2", "fit it again"});
  refused(with("\"near\":[", "\"near\":[\"x\""), {"near: expected", "got \"x\""});
  refused("[]", {"expected a JSON object"});
}

TEST(StandIn, RefusesWhatCannotBe) {
  StandInSpec spec = plain(100, 500, 30);
  spec.nnz = 10001;
  expect_error([&] { generate_standin(spec); }, {"100 rows and 10001 entries"});
  spec = plain(100, 500, 30);
  spec.near = {40000};
  spec.communities = {{3, 40000}};
  expect_error([&] { generate_standin(spec); }, {"shares", "65536"});
  spec = plain(100, 500, 30);
  spec.row_degrees.points.pop_back();
  expect_error([&] { generate_standin(spec); }, {"row_degrees", "rank 99"});
  spec = plain(100, 500, 30);
  spec.copied = 5;
  expect_error([&] { generate_standin(spec); }, {"log2_pool"});
  expect_error([] { power_curve(10, 200, 15, 0, 1); }, {"add up to 200"});
  expect_error([] { spec_from_json("{\"generator\": \"standin-0\"}", "old.json"); },
               {"old.json", "standin-0"});
  expect_error([] { spec_from_json("[1]", "list.json"); }, {"list.json"});
}

}  // namespace
}  // namespace warpgrade::datasets
