// The optimized solution's choices on the lab's shapes, for a GPU like the H200 (60 MB of L2,
// 132 multiprocessors).
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
  EXPECT_EQ(ddi.group.strip(), 128);
  EXPECT_EQ(ddi.panels, 1);
}

TEST(StrategyTest, AWideProductIsCutIntoStripsOfBThatFitInL2) {
  const Strategy collab = choose_strategy({235868, 235868, 2358104, 256}, kH200);
  EXPECT_EQ(collab.group.strip(), 32);
  EXPECT_LE(std::int64_t{235868} * collab.group.strip() * 4, kH200.l2_bytes);
}

TEST(StrategyTest, LongRowsOverALargeBAreCutIntoPanels) {
  const Strategy amazon = choose_strategy({1569960, 1569960, 264339468, 32}, kH200);
  EXPECT_GT(amazon.panels, 4);
  EXPECT_LE(std::int64_t{amazon.panel_columns} * amazon.group.strip() * 4, kH200.l2_bytes / 2);
  EXPECT_GE(std::int64_t{amazon.panels} * amazon.panel_columns, 1569960);
}

TEST(StrategyTest, ShortRowsOverALargeBAreNotCutIntoPanels) {
  const Strategy wikikg2 = choose_strategy({2500604, 2500604, 16109182, 256}, kH200);
  EXPECT_EQ(wikikg2.panels, 1);
  EXPECT_EQ(wikikg2.group.strip(), 64);
}

TEST(StrategyTest, LongRowsOverASmallBAreOrderedByBandsThatFitInL1) {
  const Strategy ddi = choose_strategy({4267, 4267, 2135822, 256}, kH200);
  EXPECT_GT(ddi.bands, 4);
  EXPECT_LE(std::int64_t{ddi.band_columns} * ddi.group.strip() * 4, 256 << 10);
  EXPECT_EQ(choose_strategy({4267, 4267, 2135822, 32}, kH200).bands, 1) << "too little work";
  EXPECT_EQ(choose_strategy({4039, 4039, 176468, 256}, kH200).bands, 1) << "rows too short";
  EXPECT_EQ(choose_strategy({232965, 232965, 114615892, 256}, kH200).bands, 1) << "panels do it";
  EXPECT_EQ(choose_strategy({132534, 132534, 79122504, 1}, kH200).bands, 4);
  EXPECT_EQ(choose_strategy({232965, 232965, 114615892, 1}, kH200).bands, 1) << "six would make rows short";
  EXPECT_EQ(choose_strategy({576289, 576289, 42463862, 1}, kH200).bands, 1) << "rows too short";
}

TEST(StrategyTest, StripsAreWiderWhereTheirEndsAreWrittenInPieces) {
  const auto strip_of = [](std::int64_t reads, std::int64_t k) {
    return choose_strategy({235'868, 235'868, 235'868 * reads, k}, kH200).group.strip();
  };
  for (const int k : {97, 100, 120, 127}) EXPECT_EQ(strip_of(10, k), 128) << k;
  for (const int k : {132, 136, 255, 258}) EXPECT_EQ(strip_of(10, k), 64) << k;
  for (const int k : {100, 127, 255}) EXPECT_EQ(strip_of(19, k), 64) << k;
  for (const int k : {104, 136}) EXPECT_EQ(strip_of(19, k), 32) << k;
  for (const int k : {96, 112, 128, 256}) EXPECT_EQ(strip_of(10, k), 32) << k;
  for (const int k : {127, 100, 255})
    EXPECT_EQ(strip_of(70, k), 32) << "much is gathered for a row of C: " << k;
}

TEST(StrategyTest, SmallDenseMatricesTakeWideStrips) {
  EXPECT_EQ(choose_strategy({1299, 1602, 145'638, 256}, kH200).group.strip(), 128) << "L1 holds much of B";
  EXPECT_EQ(choose_strategy({9814, 9814, 1'159'350, 256}, kH200).group.strip(), 32);
}

TEST(StrategyTest, HalfAStripIsNotLeftOver) {
  const Strategy pubmed = choose_strategy({19'717, 19'717, 88'648, 192}, kH200);
  EXPECT_EQ(pubmed.group.strip(), 64);
  EXPECT_EQ(pubmed.strips, 3);
  EXPECT_EQ(pubmed.last_columns, 0);
  EXPECT_EQ(choose_strategy({4267, 4267, 2'135'822, 192}, kH200).group.strip(), 128) << "long rows";
}

TEST(StrategyTest, FewRowsNearTheDiagonalTakeNarrowStrips) {
  Sizes programme{6536, 125'533, 154'510, 128};
  programme.locality = 0.8;
  EXPECT_EQ(choose_strategy(programme, kH200).group.strip(), 64);
}

TEST(StrategyTest, ShortRowsNearTheDiagonalTakeTheWidestStripWhateverL2Holds) {
  Sizes web{325'557, 325'557, 3'216'152, 256};
  EXPECT_TRUE(locality_matters(web, kH200.l2_bytes));
  EXPECT_EQ(choose_strategy(web, kH200).group.strip(), 32);
  web.locality = 0.9;
  EXPECT_EQ(choose_strategy(web, kH200).group.strip(), 128);
  web.k = 40;
  EXPECT_EQ(choose_strategy(web, kH200).all_strips(), 1);
  for (const Sizes& size : {Sizes{325'557, 325'557, 3'216'152, 32}, Sizes{4267, 4267, 20'000, 64},
                            Sizes{1'000'000, 1'000'000, 50'000'000, 256}, Sizes{500'000, 500'000, 0, 256}})
    EXPECT_FALSE(locality_matters(size, kH200.l2_bytes)) << size.cols << ' ' << size.nnz << ' ' << size.k;
}

// Sizes of a road network (2.8 entries a row), with what a sample of it says.
Sizes road(std::int64_t k, double locality = 0.97, double long_share = 0.0) {
  return {264'346, 264'346, 730'100, k, locality, long_share};
}

TEST(StrategyTest, ShortEvenRowsWithNearColumnsAreWalkedOverAllOfAWideB) {
  for (const std::int64_t k : {128, 192, 256, 512, 1000})
    EXPECT_TRUE(choose_strategy(road(k), kH200).whole_rows) << k;
  EXPECT_FALSE(choose_strategy(road(64), kH200).whole_rows) << "one strip covers it";
  EXPECT_FALSE(choose_strategy(road(130), kH200).whole_rows) << "rows of C are no whole vectors";
  EXPECT_FALSE(choose_strategy(road(256, 0.1), kH200).whole_rows) << "columns are far";
  EXPECT_EQ(choose_strategy(road(128), kH200).rows_a_warp, 8) << "their entries are one load";
  EXPECT_EQ(choose_strategy(road(256), kH200).rows_a_warp, 4);
  Sizes mesh{242'752, 242'752, 2'427'518, 256, 0.99, 0.0};
  EXPECT_TRUE(choose_strategy(mesh, kH200).whole_rows);
  EXPECT_EQ(choose_strategy(mesh, kH200).rows_a_warp, 2);
  mesh.k = 512;
  EXPECT_EQ(choose_strategy(mesh, kH200).rows_a_warp, 4);
}

TEST(StrategyTest, EvenRowsOfMiddleLengthAreWalkedOneByOneOverMoreThanOnePass) {
  const Sizes stencil{97'336, 97'336, 2'515'456, 256, 0.95, 0.0};
  EXPECT_TRUE(locality_matters(stencil, kH200.l2_bytes)) << "rows are longer than those that L2 is asked for";
  EXPECT_TRUE(choose_strategy(stencil, kH200).whole_rows);
  EXPECT_EQ(choose_strategy(stencil, kH200).rows_a_warp, 1);
  Sizes other = stencil;
  other.k = 128;
  EXPECT_FALSE(choose_strategy(other, kH200).whole_rows);
  other = stencil;
  other.long_share = 0.2;
  EXPECT_FALSE(choose_strategy(other, kH200).whole_rows);
  other = stencil;
  other.nnz = 33 * other.rows;
  EXPECT_FALSE(choose_strategy(other, kH200).whole_rows);
}

// Web, call and word graphs: a few rows are long, their parts begin the same launch.
TEST(StrategyTest, UnevenRowsAreWalkedWhereTheyAreManyAndMostEntriesAreInShortOnes) {
  EXPECT_TRUE(choose_strategy(road(256, 0.45, 0.1), kH200).whole_rows);
  EXPECT_FALSE(choose_strategy(road(256, 0.45, 0.55), kH200).whole_rows) << "most entries are in long rows";
  EXPECT_FALSE(choose_strategy({26'434, 26'434, 73'010, 256, 0.9, 0.1}, kH200).whole_rows)
      << "little work waits for its longest row";
  const Sizes web{325'557, 325'557, 3'216'152, 256, 0.99, 0.48};
  EXPECT_TRUE(choose_strategy(web, kH200).whole_rows);
  Sizes narrow = web;
  narrow.k = 128;
  EXPECT_FALSE(choose_strategy(narrow, kH200).whole_rows);
}

TEST(StrategyTest, DenseRowsTakeNarrowStripsOfAWideB) {
  const Sizes dense{18'000, 18'000, 1'530'000, 256};
  EXPECT_EQ(choose_strategy(dense, kH200).group.strip(), 32);
  EXPECT_EQ(choose_strategy({18'000, 18'000, 1'530'000, 64}, kH200).group.strip(), 64) << "one pass";
  EXPECT_EQ(choose_strategy({18'000, 18'000, 700'000, 256}, kH200).group.strip(), 128)
      << "rows of 38 entries";
  EXPECT_EQ(choose_strategy({18'000, 18'000, 3'000'000, 256}, kH200).group.strip(), 128) << "and of 166";
}

TEST(StrategyTest, WholeRowsAreNeverCutIntoPanels) {
  for (const std::int64_t k : {128, 512}) EXPECT_EQ(choose_strategy(road(k), kH200).panels, 1);
}

TEST(StrategyTest, SegmentsAreShortOnlyWhereLongerOnesWouldLeaveTheGpuHalfEmpty) {
  const auto segment_of = [](std::int64_t rows, std::int64_t nnz, std::int64_t k) {
    return choose_strategy({rows, rows, nnz, k}, kH200).segment;
  };
  for (const int k : {16, 32, 64, 128, 256})
    EXPECT_EQ(segment_of(4'039, 176'468, k), 64) << "a small social graph, K = " << k;
  for (const int k : {16, 32, 64})
    EXPECT_EQ(segment_of(13'380, 1'127'916, k), 128) << "a dense one, K = " << k;
  EXPECT_EQ(segment_of(13'380, 1'127'916, 256), 256) << "narrow strips give work to many warps";
  EXPECT_EQ(segment_of(4'267, 2'135'822, 32), 512) << "long rows: one wave";
}

TEST(StrategyTest, RowsOfMiddleLengthGoToGroupsOfLanesWhereThereAreEnoughOfThem) {
  EXPECT_EQ(choose_strategy({81'000, 81'000, 3'305'376, 32}, kH200).short_row, 64);
  EXPECT_EQ(choose_strategy({13'380, 13'380, 1'127'916, 32}, kH200).short_row, 32) << "too few rows";
  EXPECT_EQ(choose_strategy({34'546, 34'546, 841'798, 64}, kH200).short_row, 32) << "most rows are shorter";
}

TEST(StrategyTest, LanesOfOneColumnFollowTheMeanRow) {
  const auto lanes_of = [](std::int64_t rows, std::int64_t nnz, double long_share) {
    const Strategy s = choose_strategy({rows, rows, nnz, 1, 0.0, long_share}, kH200);
    EXPECT_FALSE(s.lists_short_rows);
    return std::pair{s.lanes, s.short_row};
  };
  EXPECT_EQ(lanes_of(264'346, 730'100, 0.0), std::pair(2, 32)) << "a road network";
  EXPECT_EQ(lanes_of(254'016, 1'520'066, 0.0), std::pair(4, 32)) << "a planar mesh";
  EXPECT_EQ(lanes_of(19'717, 88'651, 0.2), std::pair(8, 32)) << "uneven, and too little for a stream";
  EXPECT_EQ(lanes_of(81'000, 3'305'376, 1.0), std::pair(16, 64)) << "finite elements";
  EXPECT_EQ(lanes_of(13'380, 1'127'916, 1.0), std::pair(32, 128)) << "a dense social graph";
  EXPECT_EQ(lanes_of(232'965, 114'615'892, 1.0), std::pair(8, 32)) << "nearly all rows are long";
}

TEST(StrategyTest, LocalityIsWhatRandomColumnsDoNotHave) {
  constexpr double kAtRandom = 1.0 - 0.9 * 0.9;  // within a tenth of the columns on either side
  EXPECT_NEAR(locality_of(kAtRandom, 100'000, 10'000), 0.0, 1e-12);
  EXPECT_NEAR(locality_of(0.5 + kAtRandom / 2, 100'000, 10'000), 0.5, 1e-12);
  EXPECT_EQ(locality_of(1.0, 100'000, 10'000), 1.0);
  EXPECT_EQ(locality_of(0.0, 100'000, 10'000), 0.0) << "columns that shun the diagonal";
  EXPECT_EQ(locality_of(1.0, 5000, 10'000), 0.0) << "all columns are within reach";
}

TEST(StrategyTest, LittleWorkIsCutIntoNarrowStrips) {
  for (const int k : {64, 128, 256})
    EXPECT_EQ(choose_strategy({2708, 2708, 10'556, k}, kH200).group.strip(), 32);
  EXPECT_EQ(choose_strategy({4039, 4039, 176'468, 256}, kH200).group.strip(), 128);
}

TEST(StrategyTest, AFewLongRowsAreCutFinerThanManySoThatEveryWarpHasWork) {
  const Strategy few = choose_strategy({1000, 1000, 500'000, 32}, kH200);
  const Strategy many = choose_strategy({500'000, 1000, 250'000'000, 32}, kH200);
  EXPECT_LT(few.segment, many.segment);
}

TEST(StrategyTest, LoadsAreAsWideAsKAllowsOnceBIsPadded) {
  for (const auto& [k, vector] :
       {std::pair{4, 4}, {100, 4}, {34, 4}, {255, 4}, {9, 4}, {2, 2}, {6, 2}, {1, 1}, {7, 1}}) {
    EXPECT_EQ(choose_strategy({1000, 1000, 10'000, k}, kH200).group.vector, vector) << k;
  }
}

int pitch_of(std::int64_t cols, std::int64_t reads, std::int64_t k) {
  return choose_strategy({cols, cols, cols * reads, k}, kH200).padded_pitch;
}

TEST(StrategyTest, RowsOfBThatAreNoWholeVectorsAreCopiedWhereTheyAreReadThreeTimes) {
  for (const auto& [k, pitch] : {std::pair{9, 12}, {33, 36}, {62, 64}, {255, 256}})
    EXPECT_EQ(pitch_of(1000, 3, k), pitch) << k;
  for (const int k : {9, 33, 255}) EXPECT_EQ(pitch_of(1000, 2, k), 0) << k;
  for (const int k : {1, 7}) EXPECT_EQ(pitch_of(1000, 100, k), 0) << k;
}

TEST(StrategyTest, RowsOfBBecomeWholeLinesWhereTheLinesSavedOutweighTheCopy) {
  EXPECT_EQ(pitch_of(1000, 10, 28), 0);
  EXPECT_EQ(pitch_of(1000, 30, 28), 32);
  EXPECT_EQ(pitch_of(1000, 30, 29), 32);
  EXPECT_EQ(pitch_of(1000, 3, 17), 20);
  EXPECT_EQ(pitch_of(1000, 30, 17), 32);
  EXPECT_EQ(pitch_of(1000, 30, 12), 16);
  EXPECT_EQ(pitch_of(1000, 1000, 36), 0) << "two lines a row, whole or not";
  for (const int k : {16, 32, 48, 256}) EXPECT_EQ(pitch_of(1000, 1000, k), 0) << k;
}

TEST(StrategyTest, StripsOfBAreKeptApartByWholeLinesSooner) {
  EXPECT_EQ(pitch_of(300'000, 19, 24), 0);
  EXPECT_EQ(pitch_of(300'000, 19, 200), 224);
}

TEST(StrategyTest, AFewColumnsJoinTheStripBefore) {
  const Strategy one = choose_strategy({300'000, 300'000, 4'500'000, 36}, kH200);
  EXPECT_EQ(one.all_strips(), 1);
  EXPECT_EQ(one.last.strip(), 64);
  const Strategy two = choose_strategy({300'000, 300'000, 4'500'000, 80}, kH200);
  EXPECT_EQ(two.strips, 1);
  EXPECT_EQ(two.last_columns, 48);
  const Strategy apart = choose_strategy({300'000, 300'000, 4'500'000, 88}, kH200);
  EXPECT_EQ(apart.strips, 2);
  EXPECT_EQ(apart.last_columns, 24);
}

// What k leaves over is run by the narrowest group that covers it, or joins a strip: no k takes more passes
// over A than the next multiple of 32, nor a strip of idle lanes.
TEST(StrategyTest, NoWidthTakesMorePassesOrManyMoreLanesThanTheNextTunedOne) {
  const auto lanes = [](const Strategy& s) {
    return s.strips * s.group.lanes + (s.last_columns > 0 ? s.last.lanes : 0);
  };
  for (const std::int64_t cols : {4267, 235'868, 2'927'963}) {
    for (int k = 1; k <= 512; ++k) {
      const std::int64_t nnz = cols * (cols < 10'000 ? 100 : 10);  // little work is cut in another way
      const Strategy s = choose_strategy({cols, cols, nnz, k}, kH200);
      const Strategy tuned = choose_strategy({cols, cols, nnz, (k + 31) / 32 * 32}, kH200);
      ASSERT_LE(s.all_strips(), tuned.all_strips()) << "k = " << k << ", cols = " << cols;
      ASSERT_LE(lanes(s), lanes(tuned) + tuned.group.lanes) << "k = " << k << ", cols = " << cols;
    }
  }
}

TEST(StrategyTest, LongRowsAreCutSoThatOneWaveOfWarpsTakesThem) {
  for (const int k : {32, 256}) EXPECT_EQ(choose_strategy({4267, 4267, 2135822, k}, kH200).segment, 512) << k;
}

// Of one column: a stream of entries where rows are uneven, or scattered and much work; lanes elsewhere.
TEST(StrategyTest, OneColumnStreamsUnevenRowsAndLeavesEvenOnesAndLittleWorkToLanes) {
  const auto window = [](std::int64_t rows, std::int64_t nnz, double locality, double long_share) {
    return choose_strategy({rows, rows, nnz, 1, locality, long_share}, kH200).stream_window;
  };
  EXPECT_EQ(window(325'557, 5'565'380, 0.9, 0.6), 256) << "a web crawl";
  EXPECT_EQ(window(2'927'963, 30'561'856, 0.0, 0.1), 256) << "a large power-law graph";
  EXPECT_EQ(window(2'449'029, 123'718'168, 0.0, 0.9), 512) << "a very large one";
  EXPECT_EQ(window(326'186, 1'615'400, 0.1, 0.2), 256) << "short rows, but many";
  EXPECT_EQ(window(19'717, 88'651, 0.1, 0.2), 0) << "short rows, and few";
  EXPECT_EQ(window(82'168, 948'464, 0.5, 0.6), 0) << "longer ones, and few";
  EXPECT_EQ(window(264'346, 730'100, 0.9, 0.0), 0) << "roads";
  EXPECT_EQ(window(1'400'000, 37'000'000, 0.9, 0.5), 0) << "a large mesh of 27 points";
  EXPECT_EQ(window(232'965, 114'615'716, 0.0, 1.0), 0) << "rows as long as a warp and more";
  EXPECT_EQ(choose_strategy({2'927'963, 2'927'963, 30'561'856, 32, 0.0, 0.1}, kH200).stream_window, 0);
  Sizes apart{325'557, 325'557, 5'565'380, 1, 0.9, 0.6};
  apart.whole_vectors = false;
  EXPECT_EQ(choose_strategy(apart, kH200).stream_window, 0) << "entries that begin anywhere";
}

bool is_compiled(const Group& wanted) {
  for (const Group& group : kGroups) {
    if (group.vector == wanted.vector && group.lanes == wanted.lanes) return true;
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
            ASSERT_TRUE(is_compiled(s.group) && is_compiled(s.last))
                << rows << ' ' << cols << ' ' << nnz << ' ' << k;
            ASSERT_EQ(std::int64_t{s.strips} * s.group.strip() + s.last_columns, k);
            ASSERT_LE(s.last_columns, s.last.strip());
            ASSERT_TRUE(s.padded_pitch == 0 || s.padded_pitch >= k);
            ASSERT_GE(s.panels, 1);
            ASSERT_GE(std::int64_t{s.panels} * s.panel_columns, cols);
            ASSERT_TRUE(s.bands >= 1 && s.bands <= kMostBands);
            ASSERT_GE(std::int64_t{s.bands} * s.band_columns, s.panel_columns);
            ASSERT_GE(s.segment, s.short_row);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace optimized
