// Stamps of groups of words say the same of each word as stamps of its own would.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "check/global_shadow.h"
#include "check/order.h"

namespace warpgrade::emu {
namespace {

constexpr uint32_t kLaunch = 6, kWords = 64, kRounds = 20000;

GlobalStamp stamp_of(uint32_t when, uint32_t launch, uint32_t lane) {
  return {when, who(9, 2, lane), when % 3, launch << 4 | 15};
}

void expect_same(const GlobalStamp& got, const GlobalStamp& wanted, uint32_t round) {
  ASSERT_EQ(got.launch() == kLaunch, wanted.launch() == kLaunch) << "round " << round;
  if (wanted.launch() != kLaunch) return;
  ASSERT_EQ(got.when, wanted.when) << "round " << round;
  ASSERT_EQ(got.whom, wanted.whom) << "round " << round;
  ASSERT_EQ(got.block, wanted.block) << "round " << round;
  ASSERT_EQ(got.bytes(), wanted.bytes()) << "round " << round;
}

TEST(GlobalShadow, GroupsAndWordsTellOfTheLastAccessOfEachWord) {
  std::mt19937 random(7);
  const GlobalShadow shadow(kWords * 4);
  std::vector<GlobalStamp> model(kWords);
  for (uint32_t round = 1; round <= kRounds; ++round) {
    const uint32_t launch = kLaunch - (round < kRounds / 10), word = random() % kWords;
    if (random() % 3 == 0) {  // lanes side by side
      const uint32_t words_a_lane = 1u << random() % 3, group = word / Stamps::kGroup;
      shadow.writes.groups()[group] = Stamps::whole(stamp_of(round, launch, 8), words_a_lane);
      for (uint32_t k = 0; k < Stamps::kGroup; ++k)
        model[group * Stamps::kGroup + k] = stamp_of(round, launch, 8 + k / words_a_lane);
    } else if (random() % 8 == 0) {
      const uint32_t count = random() % (kWords - word);
      shadow.writes.forget(word, count, launch);
      std::fill_n(model.begin() + word, count, GlobalStamp{});
    } else {
      shadow.writes.open(word, launch) = stamp_of(round, launch, 3);
      model[word] = stamp_of(round, launch, 3);
    }
    const uint32_t asked = random() % kWords;
    expect_same(shadow.writes.at(asked, kLaunch), model[asked], round);
    expect_same(shadow.reads.at(asked, kLaunch), {}, round);
  }
}

}  // namespace
}  // namespace warpgrade::emu
