#include "judge/labs/spmm/precision.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "judge/labs/apsp/solver.h"
#include "judge/labs/spmm/spmm_buffers.h"

namespace warpgrade::spmm {
namespace {

// The smallest limits whose probability is below 10^-12 for sequential sums; see rms_limit.
TEST(Precision, RmsLimitLiesAboveWhatHonestSumsReach) {
  const std::pair<int, double> kLeast[] = {{16, 2.476},   {32, 1.818},     {64, 1.353},  {128, 1.031},
                                           {256, 0.813},  {512, 0.67},     {1024, 0.58}, {4096, 0.491},
                                           {65536, 0.44}, {1 << 24, 0.426}};
  for (const auto& [count, least] : kLeast) EXPECT_GT(rms_limit(count), least) << count;
  EXPECT_LT(rms_limit(1 << 24), 0.81);
}

TEST(Precision, FewOutliersAreAllowedAndTheMoreCellsTheMore) {
  EXPECT_LE(allowed_outliers(100), 1);
  EXPECT_LE(allowed_outliers(1'000'000), 3);
  EXPECT_LE(allowed_outliers(1'000'000'000), 16);
  std::int64_t last = 0;
  for (std::int64_t cells = 1; cells < 20'000'000'000; cells *= 3) {
    EXPECT_GE(allowed_outliers(cells), last) << cells;
    last = allowed_outliers(cells);
  }
}

TEST(Precision, BoundsOfSumsOfOneSignGrowWithTheirLength) {
  for (const int terms : {100, 10000, 1000000}) {
    float sum = 0;
    double exact = 0, abs_sum = 0;
    for (int i = 0; i < terms; ++i) {
      const float a = positive_value(random_bits(1, i)), b = positive_value(random_bits(2, i));
      sum = std::fma(a, b, sum);
      exact += double(a) * b;
      abs_sum += double(a) * b;
    }
    EXPECT_LE(std::abs(sum - exact), cell_bound(abs_sum, Terms::kOneSign, terms)) << terms;
  }
  EXPECT_DOUBLE_EQ(cell_bound(3, Terms::kOneSign, 100), 10 * cell_bound(3));
}

TEST(Values, OddIntegersHaveEighteenSignificantBits) {
  std::set<int> exponents;
  for (int i = 0; i < 100000; ++i) {
    const double integer = std::abs(odd_value(random_bits(7, i))) / kOddUnit;
    ASSERT_EQ(integer, std::floor(integer));
    ASSERT_EQ(std::fmod(integer, 2), 1);
    ASSERT_GE(integer, 1 << (kOddBits - 1));
    ASSERT_LT(integer, 1 << kOddBits);
  }
}

// However long a row is, some sparse and some exact column leaves 4 to 64 of its terms.
TEST(Values, RowsOfEveryLengthHaveAColumnOfFewTerms) {
  for (const int k : {32, 64, 256, 512}) {
    for (std::int64_t longest = 1; longest < 4'000'000; longest = longest * 5 / 3 + 1) {
      const auto kinds = draw_column_kinds(3, k, longest);
      EXPECT_GE(std::count(kinds.begin(), kinds.end(), kDense), 2 * k / 3);
      for (std::int64_t length = 1; length <= longest; length = length * 5 / 3 + 1) {
        bool sparse = length < kMostTerms, exact = length < 4 * kUnitShare;
        for (const ColumnKind kind : kinds) {
          if (kind == kDense) continue;
          const double share = std::pow(kLevelShare, -(kind % 16)) / (is_exact(kind) ? kUnitShare : 1);
          const double terms = share * static_cast<double>(length);
          (is_exact(kind) ? exact : sparse) |= terms >= 4 && terms < kMostTerms;
        }
        EXPECT_TRUE(sparse && exact) << "k " << k << ", rows of " << length << " of at most " << longest;
      }
    }
  }
}

TEST(Values, ExactColumnsHoldOddIntegersInUnitRowsAlone) {
  const std::vector<ColumnKind> kinds = draw_column_kinds(5, 32, 5000);
  const DenseValues b{5, 6, 32, kinds.data()};
  for (int row = 0; row < 2000; ++row) {
    for (int col = 0; col < 32; ++col) {
      if (!is_exact(kinds[col]) || b.at(row, col) == 0) continue;
      EXPECT_TRUE(is_unit_row(6, row));
      EXPECT_EQ(std::abs(a_value(6, 17 * row + col, row)), 1.0f);
    }
  }
}

Check errors_of(std::initializer_list<std::pair<int, double>> rms_by_group) {
  Check check;
  check.cells_checked = 100000;
  for (const auto& [group, rms] : rms_by_group) check.lengths[group] = {10000, 10000 * rms * rms};
  settle(check);
  return check;
}

TEST(Precision, TellsWhichRowsAreImprecise) {
  EXPECT_TRUE(errors_of({{3, 0.4}, {10, 0.42}}).ok());
  const Check long_rows = errors_of({{3, 0.4}, {10, 8}, {11, 8}});
  EXPECT_FALSE(long_rows.ok());
  EXPECT_EQ(describe_precision(long_rows).find("rows of 1024 entries or more have errors 20 times"), 0u)
      << describe_precision(long_rows);
  EXPECT_EQ(describe_precision(errors_of({{3, 4}, {10, 0.4}})).find("rows of at most 15 entries"), 0u);
  EXPECT_EQ(describe_precision(errors_of({{3, 4}, {10, 4}})).find("rows of all lengths"), 0u);
  EXPECT_EQ(describe_precision(errors_of({{2, 0.4}, {3, 4}, {10, 0.4}})).find("rows of 8 to 15 entries"), 0u);
}

TEST(Apsp, EdgesIntoAFarNodeFitNoSixteenBits) {
  for (const int weight : {0, 1, 32766, 65535, apsp::kMaxWeight}) {
    EXPECT_GT(apsp::far_weight(weight), 65535);
    EXPECT_LE(apsp::far_weight(weight), apsp::kMaxWeight);
  }
}

}  // namespace
}  // namespace warpgrade::spmm
