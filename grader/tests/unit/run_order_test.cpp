#include "judge/judging/run_order.h"

#include <gtest/gtest.h>

#include <set>

namespace warpgrade {
namespace {

constexpr int kSeeds = 2000;

TEST(RunOrder, HasTheRunsThatFindWhatWasKept) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    for (const int least : {2, 3}) {
      const RunOrder order = draw_run_order(seed, least, seed % 2 == 0);
      EXPECT_GE(order.checked_runs(), least) << order.text();
      EXPECT_LE(order.checked_runs(), least + (seed % 2 == 0 ? 1 : 0)) << order.text();
      EXPECT_GE(order.plans.size(), order.checked_runs() >= 3 ? 2u : 1u) << order.text();
      int most = 0;
      for (const PlannedRuns& plan : order.plans) {
        EXPECT_GT(plan.before + plan.after, 0) << order.text();
        most = std::max(most, plan.before + plan.after);
      }
      EXPECT_GE(most, 2) << order.text();
    }
  }
}

TEST(RunOrder, TimesOnceBehindACheckedRun) {
  std::set<std::string> orders;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const RunOrder order = draw_run_order(seed, 3, true);
    int timed = 0, runs_before = 0;
    for (const PlannedRuns& plan : order.plans) {
      if (timed == 0) runs_before += plan.before;
      timed += plan.timed ? 1 : 0;
    }
    EXPECT_EQ(timed, 1) << order.text();
    EXPECT_GT(runs_before, 0) << order.text();
    orders.insert(order.text());
  }
  EXPECT_GT(orders.size(), 15u);
}

TEST(RunOrder, ChecksOneOfFourPairsCloselyWhicheverItIs) {
  std::set<int> places;
  for (int seed = 0; seed < 100; ++seed) {
    for (int four = 0; four < 8; ++four) {
      int closely = 0;
      for (int pair = 4 * four; pair < 4 * four + 4; ++pair) {
        if (!is_checked_closely(seed, pair)) continue;
        ++closely;
        places.insert(pair % 4);
      }
      EXPECT_EQ(closely, 1) << seed;
    }
  }
  EXPECT_EQ(places.size(), 4u);
}

}  // namespace
}  // namespace warpgrade
