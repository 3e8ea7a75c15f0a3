// Seeds of a declared lab's case: by run, case and place.
#include "judge/labs/declared/run_seeds.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace warpgrade::declared {
namespace {

TEST(RunSeedsTest, DifferByRunCasePurposeAndNumberAndByNothingElse) {
  std::set<std::uint64_t> seen;
  for (const char* run : {"one", "other"}) {
    for (const char* case_id : {"odd", "many"}) {
      const RunSeeds seeds(run, case_id, 2);
      for (int number = 1; number <= 20; ++number) {
        seen.insert(seeds.plan(number));
        seen.insert(seeds.check(number));
        seen.insert(seeds.repetition(number));
      }
      seen.insert(seeds.show());
      seen.insert(seeds.order());
      seen.insert(seeds.oracles_repetition());
    }
  }
  EXPECT_EQ(seen.size(), 4u * (3 * 20 + 3));
  EXPECT_EQ(RunSeeds("one", "odd", 2).check(3), RunSeeds("one", "odd", 2).check(3));
}

TEST(RunSeedsTest, AsManyCheckedRunsAsKindsOfInputsHaveEachKindOnce) {
  std::set<std::vector<int>> orders;
  for (int run = 0; run < 200; ++run) {
    const RunSeeds seeds(std::to_string(run), "odd", 3);
    for (int first = 1; first <= 9; first += 4) {
      std::vector<int> order;
      for (int number = first; number < first + 4; ++number) order.push_back(inputs_of(seeds.check(number)));
      orders.insert(order);
      EXPECT_EQ(std::set<int>(order.begin(), order.end()), (std::set<int>{0, 1, 2, 3})) << run;
    }
  }
  EXPECT_EQ(orders.size(), 24u);  // every order there is
}

TEST(RunSeedsTest, WhatIsShownAndTheFirstTimedRepetitionHaveTheCasesOwnInputs) {
  for (int run = 0; run < 50; ++run) {
    const RunSeeds seeds(std::to_string(run), "odd", 3);
    EXPECT_EQ(inputs_of(seeds.show()), 0);
    EXPECT_EQ(inputs_of(seeds.repetition(1)), 0);
  }
}

TEST(RunSeedsTest, OfEachThreeTimedRepetitionsOneHasHardInputsWhicheverItIsAndEachKindHasItsTurn) {
  constexpr int kHard = 4;
  std::set<int> places;
  for (int run = 0; run < 50; ++run) {
    const RunSeeds seeds(std::to_string(run), "odd", kHard);
    std::vector<int> kinds;
    for (int first = 2; first < 2 + 3 * 5 * kHard; first += 3) {
      for (int place = 0; place < 3; ++place) {
        const int inputs = inputs_of(seeds.repetition(first + place));
        if (inputs == 0) continue;
        kinds.push_back(inputs);
        places.insert(place);
      }
      ASSERT_EQ(kinds.size(), static_cast<std::size_t>((first + 1) / 3)) << "run " << run;
    }
    for (auto turn = kinds.begin(); turn != kinds.end(); turn += kHard)
      EXPECT_EQ(std::set<int>(turn, turn + kHard), (std::set<int>{1, 2, 3, 4})) << "run " << run;
  }
  EXPECT_EQ(places, (std::set<int>{0, 1, 2}));
}

TEST(RunSeedsTest, ALabWithoutHardInputsHasNoneInTime) {
  const RunSeeds seeds("one", "odd", 0);
  for (int number = 1; number <= 300; ++number) EXPECT_EQ(inputs_of(seeds.repetition(number)), 0);
}

}  // namespace
}  // namespace warpgrade::declared
