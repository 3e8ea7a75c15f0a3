// What checks do for a whole warp with AVX-512, beside plain loops over the lanes.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "check/order.h"
#include "check/vector_checks.h"

namespace warpgrade::emu {
namespace {

constexpr uint32_t kRounds = 20000;

TEST(VectorChecks, RowsOfSharedMemoryAgreeWithEachLane) {
  if (!vector_checks()) GTEST_SKIP() << "no AVX-512";
  std::mt19937 random(2);
  uint32_t unordered = 0;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const uint32_t units_a_lane = 1u << random() % 3, units = kLanes * units_a_lane;
    uint32_t when[4 * kLanes], whom[4 * kLanes], since[kLanes];
    for (uint32_t& s : since) s = 8 + random() % 4;
    const RowAccess row = {12, 8, since, who(77, 5, 0), units_a_lane};
    const uint32_t at = random() % units;
    for (uint32_t u = 0; u < units; ++u) {  // in order but for one unit, about which there is no saying
      when[u] = random() % 8;
      whom[u] = random();
    }
    when[at] = random() % 13;
    whom[at] =
        who(random() % 100, 4 + random() % 2, random() % 2 == 0 ? at / units_a_lane : random() % kLanes);
    bool expected = false;
    for (uint32_t u = 0; u < units; ++u)
      expected |=
          is_unordered(when[u], whom[u], row.whom + u / units_a_lane, row.all_since, since[u / units_a_lane]);
    ASSERT_EQ(has_unordered({when, whom}, row), expected) << "round " << round;
    unordered += expected;
    std::vector<uint32_t> stale_when(when, when + units), stale_whom(whom, whom + units);
    for (uint32_t u = 0; u < units; ++u) {
      if (stale_when[u] >= row.all_since) continue;
      stale_when[u] = row.now;
      stale_whom[u] = row.whom + u / units_a_lane;
    }
    stamp_row({when, whom}, row, true);
    ASSERT_TRUE(std::equal(stale_when.begin(), stale_when.end(), when));
    ASSERT_TRUE(std::equal(stale_whom.begin(), stale_whom.end(), whom));
    stamp_row({when, whom}, row, false);
    for (uint32_t u = 0; u < units; ++u) {
      ASSERT_EQ(when[u], row.now);
      ASSERT_EQ(whom[u], row.whom + u / units_a_lane);
    }
  }
  EXPECT_GT(unordered, kRounds / 10);
}

TEST(VectorChecks, RowsOfGlobalMemoryAreInDoubtWhereAnyLaneIs) {
  if (!vector_checks()) GTEST_SKIP() << "no AVX-512";
  std::mt19937 random(3);
  uint32_t doubts = 0;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const uint32_t words_a_lane = 1u << random() % 3, words = kLanes * words_a_lane;
    const bool between_blocks = random() % 2 == 0;
    const GlobalStamp mine = {12, who(77, 5, 0), 9, 6u << 4 | 15};
    const GlobalRow row = {mine, 8, words_a_lane, false, between_blocks};
    std::vector<GlobalStamp> stamps(words);
    for (GlobalStamp& s : stamps)
      s = {uint32_t(random() % 8), uint32_t(random()), 9, uint32_t(5 + random() % 2) << 4 | 15};
    const uint32_t at = random() % words;
    stamps[at] = {uint32_t(random() % 13),
                  who(3, 4 + random() % 2, random() % 2 ? at / words_a_lane : random() % 32),
                  uint32_t(8 + random() % 2), uint32_t(5 + random() % 2) << 4 | uint32_t(random() % 16)};
    bool expected = false;
    for (uint32_t k = 0; k < words; ++k) {
      if (stamps[k].launch() != mine.launch()) continue;
      expected |= stamps[k].block != mine.block
                      ? between_blocks
                      : stamps[k].when >= row.all_since &&
                            thread_of(stamps[k].whom) != thread_of(mine.whom + k / words_a_lane);
    }
    ASSERT_EQ(no_doubt(stamps.data(), row), !expected) << "round " << round;
    doubts += expected;
    for (const bool reads : {true, false}) {
      const std::vector<GlobalStamp> before = stamps;
      ASSERT_FALSE(stamp_global(stamps.data(), row, reads));
      for (uint32_t k = 0; k < words; ++k) {
        const bool kept = reads && before[k].launch() == mine.launch() && before[k].block != mine.block;
        ASSERT_EQ(stamps[k].whom, kept ? before[k].whom : mine.whom + k / words_a_lane) << "round " << round;
        ASSERT_EQ(stamps[k].when, kept ? before[k].when : mine.when);
        ASSERT_EQ(stamps[k].block, kept ? before[k].block : mine.block);
        ASSERT_EQ(stamps[k].launch_and_bytes, kept ? before[k].launch_and_bytes : mine.launch_and_bytes);
      }
    }
  }
  EXPECT_GT(doubts, kRounds / 10);
}

TEST(VectorChecks, RowsOfGroupsAreInDoubtWhereAnyGroupIsOrWordsHaveTheirOwnStamps) {
  if (!vector_checks()) GTEST_SKIP() << "no AVX-512";
  std::mt19937 random(5);
  uint32_t doubts = 0, open = 0;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const uint32_t words_a_lane = 1u << random() % 3, lanes = Stamps::kGroup / words_a_lane,
                   groups = kLanes / lanes;
    const GlobalStamp mine = {12, who(77, 5, 0), 9, 6u << 4 | words_a_lane};
    const GlobalRow row = {mine, 8, words_a_lane, true, random() % 2 == 0};
    std::vector<GlobalStamp> stamps(groups);
    for (GlobalStamp& s : stamps) s = {uint32_t(random() % 8), uint32_t(random()), 9, 5u << 4 | 1};
    const uint32_t at = random() % groups, widths[] = {0, 1, 2, 4};
    stamps[at] = {uint32_t(random() % 13),
                  who(3, 4 + random() % 2, random() % 2 ? at * lanes : random() % 32),
                  uint32_t(8 + random() % 2), uint32_t(5 + random() % 2) << 4 | widths[random() % 4]};
    const GlobalStamp theirs = stamps[at];
    const bool same = theirs.launch() == mine.launch(), is_open = same && theirs.bytes() == 0;
    const bool same_threads =
        theirs.bytes() == words_a_lane && thread_of(theirs.whom) == thread_of(mine.whom + at * lanes);
    const bool expected =
        is_open || (same && (theirs.block != mine.block ? row.between_blocks
                                                        : theirs.when >= row.all_since && !same_threads));
    ASSERT_EQ(no_doubt(stamps.data(), row), !expected) << "round " << round;
    doubts += expected, open += is_open;
    ASSERT_EQ(stamp_global(stamps.data(), row, true), is_open) << "round " << round;
    for (uint32_t k = 0; k < groups; ++k) {
      const bool kept = k == at && same && (is_open || theirs.block != mine.block);
      ASSERT_EQ(stamps[k].whom, kept ? theirs.whom : mine.whom + k * lanes) << "round " << round;
      ASSERT_EQ(stamps[k].launch_and_bytes, kept ? theirs.launch_and_bytes : mine.launch_and_bytes);
    }
  }
  EXPECT_GT(doubts, kRounds / 10);
  EXPECT_GT(open, kRounds / 20);
}

TEST(VectorChecks, OneByteThatNobodyWroteIsFound) {
  if (!vector_checks()) GTEST_SKIP() << "no AVX-512";
  std::mt19937 random(4);
  std::vector<uint8_t> flags(4096, 1);
  Access x;
  for (uint32_t round = 0; round < kRounds; ++round) {
    for (uint64_t& host : x.host) host = 1000000 + random() % 1024 * 4;
    ASSERT_TRUE(all_words_set(flags.data(), x.host, 1000000));
    uint8_t& flag = flags[x.host[random() % kLanes] - 1000000 + random() % 4];
    flag = 0;
    ASSERT_FALSE(all_words_set(flags.data(), x.host, 1000000));
    flag = 1;
  }
}

}  // namespace
}  // namespace warpgrade::emu
