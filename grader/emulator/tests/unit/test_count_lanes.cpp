// What counting does for a whole warp with AVX-512, for a few lanes and for rows, beside plain loops over
// the lanes.
#if defined(__x86_64__)
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "check/vector_checks.h"
#include "native/count_lanes.h"
#include "native/kernel.h"

namespace warpgrade::emu {
namespace {

constexpr uint32_t kRounds = 20000;

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

// An allocation of 64 KiB of which all traffic is known.
CountedRow whole_allocation(Counted& counted) {
  counted.plane.touched.assign(65536 / kSectorBytes / 64, 0);
  counted.plane.bits = counted.plane.touched.data();
  counted.plane.words = counted.plane.touched.size();
  CountedRow known;
  known.counts = counted.counts;
  known.plane = &counted.plane;
  known.first_sector = kBegin / kSectorBytes;
  known.sectors = 65536 / kSectorBytes;
  return known;
}

// A warp whose touches of lines are followed, and what a plain loop over the lanes expects of them.
struct Followed {
  Block block;
  Warp warp;
  SampledTouches touches;
  std::vector<SampledTouch> expected;
  uint64_t lines = 0, loads = 0;
  static constexpr uint64_t kFirstLine = uint64_t{77} << 34;

  Followed() {
    block.linear = 9;
    warp.block = &block;
  }
  void describe(CountedRow& known, AccessKind kind) {
    known.sampled = &touches;
    known.first_line = kFirstLine;
    known.kind = kind;
  }
  // `sectors`: of the lanes that are there, in their order; counted from the allocation's begin.
  void expect(const std::vector<uint64_t>& sectors, AccessKind kind) {
    loads += kind == AccessKind::load ? 1 : 0;
    for (size_t k = 0; k < sectors.size();) {
      const uint64_t line = sectors[k] / kLineSectors;
      uint32_t bits = 0;
      for (; k < sectors.size() && sectors[k] / kLineSectors == line; ++k)
        bits |= 1u << sectors[k] % kLineSectors;
      ++lines;
      if (((kFirstLine + line) * kSampleMix) >> 60 == 0)
        expected.push_back({kFirstLine + line, block.linear, static_cast<uint32_t>(lines),
                            static_cast<uint8_t>(bits), kind});
    }
  }
  void compare_and_clear() {
    ASSERT_EQ(warp.lines_touched, lines);
    ASSERT_EQ(warp.loads, loads);
    ASSERT_EQ(touches.count, expected.size());
    for (size_t k = 0; k < expected.size(); ++k) {
      const SampledTouch &x = touches.of[k], &y = expected[k];
      ASSERT_EQ(x.line, y.line);
      ASSERT_EQ(x.block, y.block);
      ASSERT_EQ(x.now, y.now);
      ASSERT_EQ(x.sectors, y.sectors);
      ASSERT_EQ(x.kind, y.kind);
    }
    expected.clear();
    touches.count = 0;
  }
};

AccessKind any_kind(std::mt19937& random) {
  return static_cast<AccessKind>(random() % kAccessKinds);
}

// Draws accesses, of which lanes `mask_of` has, and counts them with `count` and with sets.
template <class MaskOf, class Count>
void compare_with_sets(MaskOf mask_of, Count count, Followed* followed = nullptr) {
  std::mt19937 random(1);
  Counted counted;
  CountedRow known = whole_allocation(counted);
  std::vector<uint64_t> touched(counted.plane.words);
  uint64_t expected[4] = {};
  for (uint32_t round = 0; round < kRounds; ++round) {
    known.bytes = 4u << random() % 3;
    const uint32_t mask = mask_of(random);
    Access x;
    draw(random, kBegin, known.bytes, x);
    std::set<uint64_t> sectors, places;
    std::vector<uint64_t> in_order;
    const AccessKind kind = any_kind(random);
    if (followed != nullptr) followed->describe(known, kind);
    for (uint32_t l = 0; l < kLanes; ++l) {
      if (!(mask >> l & 1)) {
        x.host[l] = random();  // not looked at
        continue;
      }
      const uint64_t sector = (x.host[l] - kBegin) / kSectorBytes;
      sectors.insert(sector);
      in_order.push_back(sector);
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
    if (followed == nullptr) continue;
    followed->expect(in_order, kind);
    ASSERT_NO_FATAL_FAILURE(followed->compare_and_clear()) << "round " << round;
  }
  EXPECT_EQ(counted.plane.moved, expected[2]);
  EXPECT_EQ(counted.plane.touched, touched);
}

uint32_t any_lanes(std::mt19937& random) {
  return random() % 3 == 0 ? kAllLanes : std::max<uint32_t>(1, random() & random());
}

TEST(CountLanes, AgreesWithSetsOfSectorsAndPlaces) {
  if (!vector_checks()) GTEST_SKIP() << "no AVX-512";
  Warp w;
  compare_with_sets(any_lanes, [&](const CountedRow& known, const Access& x, uint32_t mask) {
    return count_lanes_avx512(known, w, x, mask);
  });
}

TEST(CountLanes, TouchesLinesInTheOrderOfTheLanes) {
  if (!vector_checks()) GTEST_SKIP() << "no AVX-512";
  Followed followed;
  compare_with_sets(
      any_lanes,
      [&](const CountedRow& known, const Access& x, uint32_t mask) {
        return count_lanes_avx512(known, followed.warp, x, mask);
      },
      &followed);
}

struct Context {
  std::atomic<uint64_t> stop_from{~uint64_t{0}};
  std::unique_ptr<NativeContext> native = std::make_unique<NativeContext>();
  Context() { native->stop_from = &stop_from; }
  void set(CountedRow& known, const Access& x, uint32_t mask) {
    native->rows = &known;
    native->access = x;
    native->lanes_mask = mask;
  }
};

uint32_t few_lanes(std::mt19937& random) {
  uint32_t mask = 0;
  for (int k = 0; k < kFewLanes; ++k) mask |= 1u << random() % kLanes;
  return mask;
}

TEST(CountLanes, OfAFewLanesAgreesWithSetsOfSectorsAndPlaces) {
  Context context;
  compare_with_sets(few_lanes, [&](CountedRow& known, const Access& x, uint32_t mask) {
    context.set(known, x, mask);
    return native_count_few(context.native.get()) != 0;
  });
}

TEST(CountLanes, OfAFewLanesTouchesLinesInTheOrderOfTheLanes) {
  Context context;
  Followed followed;
  context.native->warp = &followed.warp;
  context.native->block = followed.block.linear;
  compare_with_sets(
      few_lanes,
      [&](CountedRow& known, const Access& x, uint32_t mask) {
        context.set(known, x, mask);
        return native_count_few_lines(context.native.get()) != 0;
      },
      &followed);
}

TEST(CountRows, TouchesItsLinesFromTheFirstToTheLast) {
  std::mt19937 random(3);
  Counted counted;
  CountedRow known = whole_allocation(counted);
  Context context;
  Followed followed;
  context.native->warp = &followed.warp;
  context.native->block = followed.block.linear;
  context.native->rows = &known;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const AccessKind kind = any_kind(random);
    followed.describe(known, kind);
    known.last_byte = random() % 1024;
    const uint64_t offset = random() % (65536 - known.last_byte);
    context.native->host = kBegin + offset;
    ASSERT_EQ(native_count_lines(context.native.get()), 1u);
    std::vector<uint64_t> sectors;
    for (uint64_t s = offset / kSectorBytes; s <= (offset + known.last_byte) / kSectorBytes; ++s)
      sectors.push_back(s);
    followed.expect(sectors, kind);
    ASSERT_NO_FATAL_FAILURE(followed.compare_and_clear()) << "round " << round;
  }
}

TEST(CountRows, WithoutRoomForItsLinesCountsNothing) {
  Counted counted;
  CountedRow known = whole_allocation(counted);
  known.bytes = 4;
  Context context;
  Followed followed;
  followed.describe(known, AccessKind::load);
  followed.touches.count = SampledTouches::kMost - SampledTouches::kOfRequest + 1;
  Access x;
  std::fill_n(x.host, kLanes, kBegin);
  context.native->warp = &followed.warp;
  context.native->host = kBegin;
  context.set(known, x, 1);
  EXPECT_EQ(native_count_lines(context.native.get()), 0u);
  EXPECT_EQ(native_count_few_lines(context.native.get()), 0u);
  if (vector_checks()) {
    EXPECT_FALSE(count_lanes_avx512(known, followed.warp, x, kAllLanes));
  }
  EXPECT_EQ(counted.counts[0], 0u);
  EXPECT_EQ(followed.warp.lines_touched, 0u);
  --followed.touches.count;
  EXPECT_EQ(native_count_lines(context.native.get()), 1u);
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
  Warp w;
  for (uint64_t outside :
       {uint64_t{99 * kSectorBytes}, uint64_t{740 * kSectorBytes}, uint64_t{200 * kSectorBytes}}) {
    std::fill_n(x.host, kLanes, 100 * kSectorBytes);
    x.host[17] = outside;  // the last one lies in the allocation, beyond what is known of its traffic
    EXPECT_FALSE(count_lanes_avx512(known, w, x, kAllLanes)) << outside;
    EXPECT_TRUE(count_lanes_avx512(known, w, x, ~(1u << 17))) << outside;
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

}  // namespace
}  // namespace warpgrade::emu
#endif
