// The optimized solution's choices on the lab's shapes, for a GPU like the H200 (60 MB of L2, 132
// multiprocessors).
#include "spmm/optimized/strategy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace optimized {
namespace {

constexpr Device kH200{60 << 20, 132};

TEST(StrategyTest, BStaysWholeWhereItFitsInL2) {
  const Strategy ddi = choose_strategy({4267, 4267, 2135822, 256}, kH200);
  EXPECT_EQ(ddi.width, 128);
  EXPECT_EQ(ddi.panels, 1);
}

TEST(StrategyTest, AWideProductIsCutIntoStripsOfBThatFitInL2) {
  const Strategy collab = choose_strategy({235868, 235868, 2358104, 256}, kH200);
  EXPECT_EQ(collab.width, 32);
  EXPECT_LE(std::int64_t{235868} * collab.width * 4, kH200.l2_bytes);
}

TEST(StrategyTest, LongRowsOverALargeBAreCutIntoPanels) {
  const Strategy amazon = choose_strategy({1569960, 1569960, 264339468, 32}, kH200);
  EXPECT_GT(amazon.panels, 4);
  EXPECT_LE(std::int64_t{amazon.panel_columns} * amazon.width * 4, kH200.l2_bytes / 2);
  EXPECT_GE(std::int64_t{amazon.panels} * amazon.panel_columns, 1569960);
}

TEST(StrategyTest, ShortRowsOverALargeBAreNotCutIntoPanels) {
  const Strategy wikikg2 = choose_strategy({2500604, 2500604, 16109182, 256}, kH200);
  EXPECT_EQ(wikikg2.panels, 1);
  EXPECT_EQ(wikikg2.width, 64);
}

TEST(StrategyTest, AFewLongRowsAreCutFinerThanManySoThatEveryWarpHasWork) {
  const Strategy few = choose_strategy({1000, 1000, 500'000, 32}, kH200);
  const Strategy many = choose_strategy({500'000, 1000, 250'000'000, 32}, kH200);
  EXPECT_LT(few.segment, many.segment);
}

// The lanes of all strips, idle ones too, and one reading of A a strip: what choose_strips minimizes.
std::int64_t lanes_paid(const Strategy& s) {
  return std::int64_t{s.strips} * (s.capacity() + 8);
}

TEST(StrategyTest, LoadsAreAsWideAsKAllows) {
  for (const auto& [k, vector] : {std::pair{4, 4}, {100, 4}, {2, 2}, {34, 2}, {1, 1}, {255, 1}}) {
    EXPECT_EQ(choose_strategy({1000, 1000, 10'000, k}, kH200).vector, vector) << k;
  }
}

// No k has a strip of a few columns left over, whatever B's size: one column more than a tuned width may not
// cost another half.
TEST(StrategyTest, NoWidthIsACliff) {
  for (const std::int64_t cols : {4267, 235'868, 2'927'963}) {
    for (int k = 33; k <= 512; ++k) {
      const auto paid = [&](int width) {
        return lanes_paid(choose_strategy({cols, cols, cols * 10, width}, kH200));
      };
      const int tuned = k / 32 * 32;
      ASSERT_LE(paid(k), paid(tuned) * (tuned + 32) * 3 / (tuned * 2)) << "k = " << k << ", cols = " << cols;
    }
  }
}

bool is_compiled(const Strategy& s) {
  for (const Group& group : kGroups) {
    if (group.vector == s.vector && group.lanes == s.lanes && group.repeat == s.repeat) return true;
  }
  return false;
}

// Every choice must have a compiled kernel and cover the matrix and C, whatever the sizes.
TEST(StrategyTest, EverySizeGetsAKernelThatExistsAndStripsAndPanelsThatCoverTheMatrix) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  std::vector<std::int64_t> widths = {1000, 4096, 65'537, 500'000};
  for (std::int64_t k = 1; k <= 520; ++k) widths.push_back(k);
  for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{1000}, kMost}) {
    for (const std::int64_t cols : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1'000'000}, kMost}) {
      for (const std::int64_t nnz : {std::int64_t{0}, std::int64_t{1}, kMost}) {
        for (const std::int64_t k : widths) {
          for (const Device device : {kH200, Device{0, 1}}) {
            const Strategy s = choose_strategy({rows, cols, nnz, k}, device);
            ASSERT_TRUE(is_compiled(s)) << rows << ' ' << cols << ' ' << nnz << ' ' << k;
            ASSERT_LE(s.width, s.capacity());
            ASSERT_EQ(s.width % s.vector, 0);
            ASSERT_LE(s.width, k);
            ASSERT_GE(std::int64_t{s.width} * s.strips, k);
            ASSERT_LT(std::int64_t{s.width} * (s.strips - 1), k);
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
