// What counters and checks do for a whole warp with AVX-512, beside plain loops over the lanes.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "check/vector_checks.h"
#if defined(__x86_64__)
#include "native/count_lanes.h"
#include "native/kernel.h"
#endif

namespace warpgrade::emu {
namespace {

constexpr uint32_t kRounds = 20000;

#if defined(__x86_64__)
struct Counted {
  uint64_t counts[4] = {};
  BufferTraffic::Plane plane;
};

// Addresses of `bytes` each within 64 KiB from `begin` on: in order, near each other, or anywhere.
void draw(std::mt19937& random, uint64_t begin, uint32_t bytes, Access& x) {
  const uint32_t shape = random() % 4, spread = 1u << random() % 14;
  uint32_t at = random() % 1000;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (shape == 0) at += random() % 3;
    if (shape == 1) at += random() % 40;
    if (shape >= 2) at = random() % spread;
    x.host[l] = begin + uint64_t(at % (65536 / bytes)) * bytes;
  }
}

constexpr uint64_t kBegin = uint64_t{3} << 33;

// Draws accesses, of which lanes `mask_of` has, and counts them with `count` and with sets.
template <class MaskOf, class Count>
void compare_with_sets(MaskOf mask_of, Count count) {
  std::mt19937 random(1);
  Counted counted;
  counted.plane.touched.assign(65536 / kSectorBytes / 64, 0);
  counted.plane.bits = counted.plane.touched.data();
  counted.plane.words = counted.plane.touched.size();
  std::vector<uint64_t> touched(counted.plane.words);
  uint64_t expected[4] = {};
  CountedRow known;
  known.counts = counted.counts;
  known.plane = &counted.plane;
  known.first_sector = kBegin / kSectorBytes;
  known.sectors = 65536 / kSectorBytes;
  for (uint32_t round = 0; round < kRounds; ++round) {
    known.bytes = 4u << random() % 3;
    const uint32_t mask = mask_of(random);
    Access x;
    draw(random, kBegin, known.bytes, x);
    std::set<uint64_t> sectors, places;
    for (uint32_t l = 0; l < kLanes; ++l) {
      if (!(mask >> l & 1)) {
        x.host[l] = random();  // not looked at
        continue;
      }
      const uint64_t sector = (x.host[l] - kBegin) / kSectorBytes;
      sectors.insert(sector);
      places.insert(x.host[l]);
      BufferTraffic::touch(touched.data(), sector);
    }
    ++expected[0];
    expected[1] += static_cast<uint64_t>(__builtin_popcount(mask));
    expected[2] += sectors.size();
    expected[3] += sectors.size() == 1 ? 1 : (places.size() * known.bytes + kSectorBytes - 1) / kSectorBytes;
    ASSERT_TRUE(count(known, x, mask));
    for (int k = 0; k < 4; ++k)
      ASSERT_EQ(counted.counts[k], expected[k]) << "round " << round << ", count " << k;
  }
  EXPECT_EQ(counted.plane.moved, expected[2]);
  EXPECT_EQ(counted.plane.touched, touched);
}

uint32_t any_lanes(std::mt19937& random) {
  return random() % 3 == 0 ? kAllLanes : std::max<uint32_t>(1, random() & random());
}

TEST(CountLanes, AgreesWithSetsOfSectorsAndPlaces) {
  if (!vector_checks()) GTEST_SKIP() << "no AVX-512";
  compare_with_sets(any_lanes, count_lanes_avx512);
}

TEST(CountLanes, OfAFewLanesAgreesWithSetsOfSectorsAndPlaces) {
  const std::atomic<uint64_t> stop_from{~uint64_t{0}};
  const auto context = std::make_unique<NativeContext>();
  context->stop_from = &stop_from;
  const auto few = [](std::mt19937& random) {
    uint32_t mask = 0;
    for (int k = 0; k < kFewLanes; ++k) mask |= 1u << random() % kLanes;
    return mask;
  };
  compare_with_sets(few, [&](CountedRow& known, const Access& x, uint32_t mask) {
    context->rows = &known;
    context->access = x;
    context->lanes_mask = mask;
    return native_count_few(context.get()) != 0;
  });
}

TEST(CountLanes, LeavesAloneWhatLiesOutside) {
  if (!vector_checks()) GTEST_SKIP() << "no AVX-512";
  Counted counted;
  counted.plane.touched.assign(1, 0);
  counted.plane.bits = counted.plane.touched.data();
  counted.plane.words = 1;
  CountedRow known;
  known.counts = counted.counts;
  known.plane = &counted.plane;
  known.first_sector = 100;
  known.sectors = 640;
  known.bytes = 4;
  Access x;
  for (uint64_t outside :
       {uint64_t{99 * kSectorBytes}, uint64_t{740 * kSectorBytes}, uint64_t{200 * kSectorBytes}}) {
    std::fill_n(x.host, kLanes, 100 * kSectorBytes);
    x.host[17] = outside;  // the last one lies in the allocation, beyond what is known of its traffic
    EXPECT_FALSE(count_lanes_avx512(known, x, kAllLanes)) << outside;
    EXPECT_TRUE(count_lanes_avx512(known, x, ~(1u << 17))) << outside;
  }
  EXPECT_EQ(counted.counts[0], 3u);
}

TEST(CountLanes, TurnsOfUpdatesAgreeWithCountsOfWordsAndBanks) {
  if (!vector_checks()) GTEST_SKIP() << "no AVX-512";
  std::mt19937 random(5);
  uint64_t sum = 0;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const uint32_t mask = any_lanes(random);
    Access x;
    draw(random, kBegin, sizeof(uint32_t), x);
    std::map<uint64_t, uint32_t> at_word, in_bank;
    uint32_t words = 0, banks = 0;
    x.low = ~uint64_t{0};
    x.high = 0;
    for (uint32_t l = 0; l < kLanes; ++l) {
      if (!(mask >> l & 1)) continue;
      const uint64_t word = (x.host[l] - kBegin) / sizeof(uint32_t);
      words = std::max(words, ++at_word[word]);
      banks = std::max(banks, ++in_bank[word % 32]);
      x.low = std::min(x.low, x.host[l]);
      x.high = std::max(x.high, x.host[l]);
    }
    const Turns turns = turns_avx512(x, mask, kBegin);
    ASSERT_EQ(turns.at_word, words) << "round " << round;
    ASSERT_EQ(turns.in_bank, banks) << "round " << round;
    sum += words;
  }
  EXPECT_GT(sum, 2 * kRounds);
}
#endif

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
  const std::vector<uint32_t> since(kLanes, 0);
  for (uint32_t round = 0; round < kRounds; ++round) {
    const uint32_t words_a_lane = 1u << random() % 3, words = kLanes * words_a_lane;
    const bool between_blocks = random() % 2 == 0;
    const GlobalStamp mine = {12, who(77, 5, 0), 9, 6u << 4 | 15};
    const RowAccess row = {mine.when, 8, since.data(), mine.whom, words_a_lane};
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
    ASSERT_EQ(no_doubt(stamps.data(), mine, row, between_blocks), !expected) << "round " << round;
    doubts += expected;
    for (const bool reads : {true, false}) {
      const std::vector<GlobalStamp> before = stamps;
      stamp_words(stamps.data(), mine, row, reads);
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
