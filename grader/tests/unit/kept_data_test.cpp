#include "judge/judging/kept_data.h"

#include <gtest/gtest.h>

#include <vector>

namespace warpgrade {
namespace {

using Numbers = std::vector<int>;

std::shared_ptr<const Numbers> numbers(int first) {
  return std::make_shared<const Numbers>(Numbers{first});
}

TEST(KeptData, GivesBackWhatWasKeptUnderItsName) {
  KeptData kept;
  kept.add("a", numbers(1), 10, 100);
  kept.add("b", numbers(2), 10, 100);
  ASSERT_TRUE(kept.find<Numbers>("a"));
  EXPECT_EQ(1, kept.find<Numbers>("a")->front());
  EXPECT_EQ(2, kept.find<Numbers>("b")->front());
  EXPECT_FALSE(kept.find<Numbers>("c"));
  EXPECT_EQ(20u, kept.bytes());
}

TEST(KeptData, GivesUpWhatWasAskedForLeastRecently) {
  KeptData kept;
  kept.add("a", numbers(1), 40, 100);
  kept.add("b", numbers(2), 40, 100);
  kept.find<Numbers>("a");
  kept.add("c", numbers(3), 40, 100);
  EXPECT_TRUE(kept.find<Numbers>("a"));
  EXPECT_FALSE(kept.find<Numbers>("b"));
  EXPECT_TRUE(kept.find<Numbers>("c"));
  EXPECT_EQ(80u, kept.bytes());
}

TEST(KeptData, KeepsNothingThatIsTooLargeOrHasNoName) {
  KeptData kept;
  kept.add("a", numbers(1), 40, 100);
  kept.add("b", numbers(2), 101, 100);
  kept.add("", numbers(3), 1, 100);
  EXPECT_FALSE(kept.find<Numbers>("b"));
  EXPECT_FALSE(kept.find<Numbers>(""));
  EXPECT_TRUE(kept.find<Numbers>("a"));  // was not given up for it
}

TEST(KeptData, ReplacesWhatHasTheSameName) {
  KeptData kept;
  kept.add("a", numbers(1), 60, 100);
  kept.add("a", numbers(2), 70, 100);
  ASSERT_TRUE(kept.find<Numbers>("a"));
  EXPECT_EQ(2, kept.find<Numbers>("a")->front());
  EXPECT_EQ(70u, kept.bytes());
}

TEST(KeptData, ACaseHoldsWhatItTookAfterItWasGivenUp) {
  KeptData kept;
  kept.add("a", numbers(7), 60, 100);
  const auto held = kept.find<Numbers>("a");
  kept.add("b", numbers(8), 60, 100);
  EXPECT_FALSE(kept.find<Numbers>("a"));
  kept.clear();
  EXPECT_EQ(0u, kept.bytes());
  EXPECT_EQ(7, held->front());
}

}  // namespace
}  // namespace warpgrade
