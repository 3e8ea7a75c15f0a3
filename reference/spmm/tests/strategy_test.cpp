// The optimized solution's choices on the lab's shapes, for a GPU like the H200 (60 MB of L2, 132
// multiprocessors).
#include "spmm/optimized/strategy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace optimized {
namespace {

constexpr Device kH200{60 << 20, 132};

TEST(StrategyTest, BStaysWholeWhereItFitsInL2) {
  const Strategy ddi = choose_strategy({4267, 4267, 2135822, 256}, kH200);
  EXPECT_EQ(ddi.strip(), 128);
  EXPECT_EQ(ddi.panels, 1);
}

TEST(StrategyTest, AWideProductIsCutIntoStripsOfBThatFitInL2) {
  const Strategy collab = choose_strategy({235868, 235868, 2358104, 256}, kH200);
  EXPECT_EQ(collab.strip(), 32);
  EXPECT_LE(std::int64_t{235868} * collab.strip() * 4, kH200.l2_bytes);
}

TEST(StrategyTest, LongRowsOverALargeBAreCutIntoPanels) {
  const Strategy amazon = choose_strategy({1569960, 1569960, 264339468, 32}, kH200);
  EXPECT_GT(amazon.panels, 4);
  EXPECT_LE(std::int64_t{amazon.panel_columns} * amazon.strip() * 4, kH200.l2_bytes / 2);
  EXPECT_GE(std::int64_t{amazon.panels} * amazon.panel_columns, 1569960);
}

TEST(StrategyTest, ShortRowsOverALargeBAreNotCutIntoPanels) {
  const Strategy wikikg2 = choose_strategy({2500604, 2500604, 16109182, 256}, kH200);
  EXPECT_EQ(wikikg2.panels, 1);
  EXPECT_EQ(wikikg2.strip(), 64);
}

TEST(StrategyTest, AFewLongRowsAreCutFinerThanManySoThatEveryWarpHasWork) {
  const Strategy few = choose_strategy({1000, 1000, 500'000, 32}, kH200);
  const Strategy many = choose_strategy({500'000, 1000, 250'000'000, 32}, kH200);
  EXPECT_LT(few.segment, many.segment);
}

TEST(StrategyTest, AWidthThatIsNoMultipleOfFourIsLoadedByScalars) {
  for (const int k : {1, 7, 33, 255}) {
    const Strategy s = choose_strategy({1000, 1000, 10'000, k}, kH200);
    EXPECT_EQ(s.vector, 1) << k;
    EXPECT_TRUE(s.lanes == 8 || s.lanes == 32) << k << " needs a kernel of " << s.lanes << " lanes";
  }
}

// Every choice must have a compiled kernel and cover the matrix, whatever the sizes.
TEST(StrategyTest, EverySizeGetsAKernelThatExistsAndPanelsThatCoverTheMatrix) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{1000}, kMost}) {
    for (const std::int64_t cols : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1'000'000}, kMost}) {
      for (const std::int64_t nnz : {std::int64_t{0}, std::int64_t{1}, kMost}) {
        for (const std::int64_t k : {1, 4, 8, 16, 20, 32, 64, 100, 256, 4096}) {
          for (const Device device : {kH200, Device{0, 1}}) {
            const Strategy s = choose_strategy({rows, cols, nnz, k}, device);
            const bool has_kernel = s.vector == 1
                                        ? s.lanes == 8 || s.lanes == 32
                                        : s.lanes == 4 || s.lanes == 8 || s.lanes == 16 || s.lanes == 32;
            ASSERT_TRUE(has_kernel) << rows << ' ' << cols << ' ' << nnz << ' ' << k;
            ASSERT_GE(s.panels, 1);
            ASSERT_GE(std::int64_t{s.panels} * s.panel_columns, cols);
            ASSERT_GE(s.segment, s.short_row);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace optimized
