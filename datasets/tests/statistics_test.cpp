// Figures of a structure, against counts made the slow way, and fits against what was put in.
#include "warpgrade/datasets/statistics.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>

#include "test_support.h"
#include "warpgrade/datasets/fit.h"
#include "warpgrade/datasets/generate.h"

namespace warpgrade::datasets {
namespace {

Statistics of(const Csr& matrix) {
  return statistics_of(matrix.cols, matrix.row_offsets, matrix.columns);
}

// Distinct columns between two accesses to one, by looking.
std::vector<std::int64_t> distances_by_looking(const std::vector<int>& columns) {
  std::vector<std::int64_t> distances;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::set<int> between;
    std::size_t j = i;
    while (j > 0 && columns[j - 1] != columns[i]) between.insert(columns[--j]);
    if (j > 0) distances.push_back(static_cast<std::int64_t>(between.size()));
  }
  return distances;
}

TEST(Statistics, ReuseDistancesAreThoseOfLooking) {
  for (std::uint64_t trial = 0; trial < 30; ++trial) {
    const std::uint64_t seed = base_seed() + trial;
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Csr matrix = random_matrix(seed, 120, 30);
    const Reuse reuse = reuse_of(matrix.cols, matrix.columns, INT32_MAX);
    std::vector<std::int64_t> looked = distances_by_looking(matrix.columns);
    const auto accesses = static_cast<double>(matrix.columns.size());
    if (matrix.columns.empty()) continue;
    EXPECT_NEAR(reuse.cold, (accesses - static_cast<double>(looked.size())) / accesses, 1e-9);
    std::vector<double> histogram(reuse.histogram.size(), 0);
    for (const std::int64_t distance : looked) {
      const auto bucket = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(distance)));
      ASSERT_LT(bucket, histogram.size());
      histogram[bucket] += 1 / accesses;
    }
    for (std::size_t b = 0; b < histogram.size(); ++b) EXPECT_NEAR(reuse.histogram[b], histogram[b], 1e-9);
    if (looked.empty()) continue;
    std::sort(looked.begin(), looked.end());
    EXPECT_EQ(reuse.median, looked[(looked.size() - 1) / 2]);
  }
}

TEST(Statistics, SampledReuseIsNearTheExact) {
  const Csr matrix = generate_powerlaw({20000, 400000, 0.3, 1});
  const Reuse exact = reuse_of(matrix.cols, matrix.columns, INT32_MAX);
  const Reuse sampled = reuse_of(matrix.cols, matrix.columns, 60000);
  EXPECT_EQ(exact.sampled, 1);
  EXPECT_EQ(sampled.sampled, 0.125);
  EXPECT_LT(reuse_distance(exact, sampled), 0.2);
  EXPECT_NEAR(static_cast<double>(sampled.median), static_cast<double>(exact.median),
              0.1 * static_cast<double>(exact.median));
}

TEST(Statistics, DegreesOfAKnownMatrix) {
  Csr matrix;
  matrix.rows = matrix.cols = 4;
  matrix.row_offsets = {0, 3, 3, 4, 6};
  matrix.columns = {0, 1, 3, 2, 0, 3};
  matrix.values.assign(6, 1);
  const Statistics s = of(matrix);
  EXPECT_EQ(s.row_degrees.max, 3);
  EXPECT_EQ(s.row_degrees.empty, 1);
  EXPECT_EQ(s.row_degrees.mean, 1.5);
  EXPECT_NEAR(s.row_degrees.gini, 5.0 / 12, 1e-12);  // sum of |a - b| over all pairs / (2 n^2 mean)
  EXPECT_EQ(s.row_degrees.histogram, (std::vector<std::int64_t>{1, 1, 2}));
  EXPECT_NEAR(s.warp_efficiency, 6.0 / (32 * 3), 1e-12);
  EXPECT_FALSE(s.symmetric);
  EXPECT_EQ(s.distances.size(), 3u);
  EXPECT_NEAR(s.distances[0], 3.0 / 6, 1e-12);
}

TEST(Statistics, PlantedCommunitiesAreFound) {
  StandInSpec spec;
  spec.n = 8192;
  spec.nnz = 131072;
  spec.row_degrees = power_curve(spec.n, spec.nnz, 40, 1, 0.3);
  const Csr none = generate_standin(spec);
  spec.communities = {{6, kWholeShare * 7 / 10}};
  const Csr planted = generate_standin(spec);
  EXPECT_LT(of(none).community, 0.2);
  const Statistics s = of(planted);
  EXPECT_NEAR(s.community, 0.7, 0.1);
  EXPECT_NEAR(static_cast<double>(s.community_nodes), 64, 16);
}

TEST(Statistics, SymmetryIsThatOfThePattern) {
  Csr ring;
  ring.rows = ring.cols = 5;
  ring.row_offsets = {0, 2, 4, 6, 8, 10};
  ring.columns = {1, 4, 0, 2, 1, 3, 2, 4, 0, 3};
  ring.values.assign(10, 1);
  EXPECT_TRUE(of(ring).symmetric);
  ring.columns[0] = 0;
  EXPECT_FALSE(of(ring).symmetric);
}

TEST(Fit, FindsWhatWasPutIn) {
  StandInSpec spec;
  spec.n = 6000;
  spec.nnz = 60000;
  spec.row_degrees = power_curve(spec.n, spec.nnz, 500, 1, 0.8);
  spec.near = {0, 3000, 6000, 9000};
  spec.copied = kWholeShare / 2;
  spec.log2_group = 4;
  spec.log2_pool = 5;
  spec.alike = kWholeShare / 2;
  const Csr real = generate_standin(spec);
  const Fit fit = fit_standin(real.row_offsets, real.columns, 2);
  EXPECT_EQ(fit.standin.row_degrees.max, fit.real.row_degrees.max);
  EXPECT_NEAR(fit.standin.row_degrees.gini, fit.real.row_degrees.gini, 0.02);
  EXPECT_NEAR(fit.standin.warp_efficiency, fit.real.warp_efficiency, 0.02);
  EXPECT_NEAR(fit.standin.diagonal_band, fit.real.diagonal_band, 0.05);
  EXPECT_LT(fit.reuse_distance, 0.4);
}

}  // namespace
}  // namespace warpgrade::datasets
