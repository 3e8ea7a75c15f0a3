#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include "judge/labs/declared/comparison.h"
#include "judge/labs/declared/draw.h"

namespace warpgrade::declared {
namespace {

using declaration::ArrayDeclaration;
using declaration::Check;
using declaration::CheckKind;
using declaration::Draw;
using declaration::DrawKind;
using declaration::element_of;
using declaration::Scalar;

template <typename T>
std::vector<T> drawn(const Draw& draw, Scalar type, std::size_t count, std::uint64_t seed, int threads = 1,
                     std::int64_t row = 1) {
  std::vector<T> cells(count);
  draw_cells({draw}, element_of(type), row, seed, threads, std::as_writable_bytes(std::span(cells)));
  return cells;
}

TEST(DeclaredDraw, IsTheSameForOneSeedOnAnyNumberOfThreads) {
  Draw draw;
  draw.whole_low = -1000;
  draw.whole_high = 1000;
  const auto one = drawn<int>(draw, Scalar::kInt32, 300000, 5);
  EXPECT_EQ(one, drawn<int>(draw, Scalar::kInt32, 300000, 5, 3));
  EXPECT_NE(one, drawn<int>(draw, Scalar::kInt32, 300000, 6));
  EXPECT_EQ(*std::min_element(one.begin(), one.end()), -1000);
  EXPECT_EQ(*std::max_element(one.begin(), one.end()), 1000);
}

TEST(DeclaredDraw, ACellDependsOnSeedAndPlaceAloneInEveryWayOfDrawing) {
  for (const DrawKind kind :
       {DrawKind::kUniform, DrawKind::kNormal, DrawKind::kSorted, DrawKind::kDescending, DrawKind::kOneHot}) {
    Draw draw;
    draw.kind = kind;
    draw.low = 1;
    draw.high = 2;
    // Parts begin at odd cells too, and a normal number has a partner.
    const auto one = drawn<float>(draw, Scalar::kFp32, 400003, 5);
    for (const int threads : {2, 3, 5})
      EXPECT_EQ(one, drawn<float>(draw, Scalar::kFp32, 400003, 5, threads)) << static_cast<int>(kind);
  }
}

TEST(DeclaredDraw, PermutationsHoldEveryNumberOnce) {
  Draw draw;
  draw.kind = DrawKind::kPermutation;
  for (const std::size_t count : {1u, 2u, 3u, 17u, 1000u, 4096u, 70001u}) {
    auto cells = drawn<int>(draw, Scalar::kInt32, count, count);
    if (count >= 1000) {
      EXPECT_FALSE(std::is_sorted(cells.begin(), cells.end()));
    }
    std::sort(cells.begin(), cells.end());
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(cells[i], static_cast<int>(i));
  }
}

TEST(DeclaredDraw, SortedNumbersRise) {
  Draw draw;
  draw.kind = DrawKind::kSorted;
  draw.whole_high = 100;
  const auto cells = drawn<unsigned char>(draw, Scalar::kUint8, 1000, 3);
  EXPECT_TRUE(std::is_sorted(cells.begin(), cells.end()));
  EXPECT_EQ(cells.back(), 100);
}

TEST(DeclaredDraw, DescendingNumbersAreSortedOnesFromTheirEnd) {
  Draw draw;
  draw.kind = DrawKind::kSorted;
  draw.whole_high = 100;
  auto sorted = drawn<unsigned char>(draw, Scalar::kUint8, 1000, 3);
  draw.kind = DrawKind::kDescending;
  std::reverse(sorted.begin(), sorted.end());
  EXPECT_EQ(drawn<unsigned char>(draw, Scalar::kUint8, 1000, 3), sorted);
}

TEST(DeclaredDraw, NormalNumbersHaveTheirMeanAndDeviation) {
  Draw draw;
  draw.kind = DrawKind::kNormal;
  draw.mean = 3;
  draw.deviation = 2;
  const auto cells = drawn<double>(draw, Scalar::kFp64, 100000, 11);
  double sum = 0, squares = 0;
  for (const double cell : cells) {
    sum += cell;
    squares += (cell - 3) * (cell - 3);
  }
  EXPECT_NEAR(sum / 1e5, 3, 0.03);
  EXPECT_NEAR(std::sqrt(squares / 1e5), 2, 0.03);
}

// The host's mathematical library, which nobody here wrote.
TEST(DeclaredDraw, LogarithmCosineAndSineAreThoseOfTheMathematicalLibrary) {
  const std::uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<double> places{0x1p-53, 1, 0.5, 1 - 0x1p-53, 0.70710678118654752, 0.125, 0.25, 0.375, 0.875, 0};
  for (int i = 0; i < 200000; ++i) places.push_back(share(random));
  for (int i = 0; i < 1000; ++i)
    places.push_back(std::ldexp(share(random), -static_cast<int>(random() % 52)));
  for (const double place : places) {
    if (place > 0) {
      const double wanted = std::log(place);
      ASSERT_NEAR(logarithm(place), wanted, 1e-15 * std::fabs(wanted)) << place << ", seed " << seed;
    }
    if (place == 1) continue;
    const double angle = 2 * M_PI * place;
    const TwoNumbers both = cosine_and_sine(place);
    ASSERT_NEAR(both.first, std::cos(angle), 1.5e-15) << place << ", seed " << seed;
    ASSERT_NEAR(both.second, std::sin(angle), 1.5e-15) << place << ", seed " << seed;
  }
}

// Kolmogorov and Smirnov's distance to the normal distribution, as erfc of the host's library has it: beyond
// 2.3 / sqrt(n) in one case of 40,000.
TEST(DeclaredDraw, NormalNumbersAreDistributedSo) {
  const std::uint64_t seed = std::random_device()();
  Draw draw;
  draw.kind = DrawKind::kNormal;
  draw.mean = -7;
  draw.deviation = 0.5;
  auto cells = drawn<double>(draw, Scalar::kFp64, 200000, seed);
  double products = 0;
  for (std::size_t i = 0; i < cells.size(); i += 2) products += (cells[i] + 7) * (cells[i + 1] + 7) / 0.25;
  EXPECT_LT(std::fabs(products) / std::sqrt(1e5), 5) << "seed " << seed;  // two of a pair are independent
  std::sort(cells.begin(), cells.end());
  const auto count = static_cast<double>(cells.size());
  double distance = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const double wanted = 0.5 * std::erfc(-(cells[i] + 7) / 0.5 / std::sqrt(2.0));
    distance = std::max({distance, std::fabs(static_cast<double>(i) / count - wanted),
                         std::fabs(static_cast<double>(i + 1) / count - wanted)});
  }
  EXPECT_LT(distance, 2.3 / std::sqrt(count)) << "seed " << seed;
}

TEST(DeclaredDraw, OneHotRowsHaveOneCellThatIsNotZero) {
  Draw draw;
  draw.kind = DrawKind::kOneHot;
  draw.low = 1;
  const auto cells = drawn<float>(draw, Scalar::kFp32, 700, 2, 1, 7);
  std::set<std::size_t> places;
  for (std::size_t row = 0; row < 100; ++row) {
    EXPECT_EQ(std::count(cells.begin() + long(row) * 7, cells.begin() + long(row) * 7 + 7, 1.0f), 1);
    places.insert(std::size_t(std::find(cells.begin() + long(row) * 7, cells.end(), 1.0f) - cells.begin()) %
                  7);
  }
  EXPECT_EQ(places.size(), 7u);
}

// Cells that are not 0 in each row of `row` cells.
std::vector<long> cells_kept(const std::vector<float>& cells, long row) {
  std::vector<long> kept;
  for (auto at = cells.begin(); at < cells.end(); at += row)
    kept.push_back(row - std::count(at, at + row, 0.0f));
  return kept;
}

TEST(DeclaredDraw, OfSoManyRowsOneIsThinWhereverItLiesAndEveryOtherOfThemKeepsOneCell) {
  constexpr long kRow = 64, kPer = 16, kGroups = 500;
  Draw draw;
  draw.thin_rows = kPer;
  const auto cells = drawn<float>(draw, Scalar::kFp32, kRow * kPer * kGroups, 7, 1, kRow);
  EXPECT_EQ(cells, drawn<float>(draw, Scalar::kFp32, kRow * kPer * kGroups, 7, 3, kRow));
  const std::vector<long> kept = cells_kept(cells, kRow);
  std::set<long> places, counts;
  for (long group = 0; group < kGroups; ++group) {
    const auto first = kept.begin() + group * kPer, thin = std::min_element(first, first + kPer);
    ASSERT_EQ(std::count(first, first + kPer, kRow), kPer - 1) << group;
    if (group % 2 == 0) {
      ASSERT_EQ(*thin, 1) << group;
    }
    places.insert(thin - first);
    counts.insert(*thin);
  }
  EXPECT_EQ(places.size(), std::size_t{kPer});
  EXPECT_GT(*counts.rbegin(), kRow / 3);
  EXPECT_GT(counts.size(), 20u);
}

TEST(DeclaredDraw, RowsThatAreNotThinAreDrawnAsWithoutThem) {
  Draw plain, thin;
  thin.thin_rows = 4;
  const auto all =
      drawn<float>(plain, Scalar::kFp32, 7 * 6, 3, 1, 7);  // the second four of rows is not whole
  const auto some = drawn<float>(thin, Scalar::kFp32, 7 * 6, 3, 1, 7);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_TRUE(some[i] == 0 || some[i] == all[i]) << i;
  EXPECT_NE(all, some);
}

// An output of fp32 or int32 beside its truth.
template <typename Got, typename Want>
struct Compared {
  ArrayDeclaration array;
  Check check;
  std::vector<Got> got;
  std::vector<Want> want;
  std::vector<double> magnitude;

  Compared(Scalar type, std::vector<Got> result, std::vector<Want> truth)
      : got(std::move(result)), want(std::move(truth)) {
    array.name = "out";
    array.type = element_of(type);
  }
  OutputView view() const {
    return {&array,
            &check,
            {static_cast<std::int64_t>(got.size())},
            std::as_bytes(std::span(got)),
            std::as_bytes(std::span(want)),
            std::as_bytes(std::span(magnitude)),
            {}};
  }
  std::int64_t wrong() const { return compare(view(), 1).wrong; }
};

TEST(DeclaredCheck, AcceptsWithinTheToleranceAndNotBeyond) {
  Compared<float, double> one(Scalar::kFp32, {1.0f, 1.001f, 1.1f, 0.0f}, {1.0, 1.0, 1.0, 1e-9});
  one.check.kind = CheckKind::kTolerance;
  one.check.relative = 2e-3;
  EXPECT_EQ(one.wrong(), 2);
  one.check.absolute = 1e-8;
  EXPECT_EQ(one.wrong(), 1);
}

TEST(DeclaredCheck, NaNIsRightOnlyWhereTheTruthIsNaN) {
  for (const CheckKind kind : {CheckKind::kExact, CheckKind::kTolerance, CheckKind::kUlps}) {
    Compared<float, double> one(Scalar::kFp32, {NAN, NAN, INFINITY, -INFINITY, 1.0f},
                                {NAN, 1.0, INFINITY, INFINITY, INFINITY});
    one.check.kind = kind;
    one.check.relative = 1;
    one.check.ulps = 1000;
    EXPECT_EQ(one.wrong(), 3) << static_cast<int>(kind);
  }
}

TEST(DeclaredCheck, UlpsCountNeighboursOfTheRoundedTruth) {
  const float next = std::nextafter(1.0f, 2.0f), second = std::nextafter(next, 2.0f);
  Compared<float, double> one(Scalar::kFp32, {1.0f, next, second, -1.0f}, {1.0 + 1e-12, 1.0, 1.0, 1.0});
  one.check.kind = CheckKind::kUlps;
  one.check.ulps = 1;
  EXPECT_EQ(one.wrong(), 2);
  one.check.ulps = 0;
  EXPECT_EQ(one.wrong(), 3);
}

TEST(DeclaredCheck, ABoundGrowsWithTheOraclesMagnitude) {
  Compared<float, double> one(Scalar::kFp32, {1.0f, 1.0f}, {1.0 + 0x1p-20, 1.0 + 0x1p-20});
  one.check.kind = CheckKind::kBound;
  one.check.factor = 8;
  one.magnitude = {1, 4};
  EXPECT_EQ(one.wrong(), 1);
}

TEST(DeclaredCheck, ManyErrorsTogetherAreLimitedToo) {
  constexpr std::size_t kCells = 40000;
  Compared<float, double> one(Scalar::kFp32, std::vector<float>(kCells, 1), {});
  one.magnitude.assign(kCells, 1);
  one.check.kind = CheckKind::kBound;
  one.check.factor = 20;
  const auto share = [&](double error, double limit) {
    one.want.assign(kCells, 1 + error * 0x1p-24);
    one.check.rms = limit;
    const Comparison comparison = compare(one.view(), 2);
    EXPECT_EQ(comparison.wrong, 0);
    return rms_over_limit(one.check, comparison);
  };
  EXPECT_EQ(share(2, 0), 0);
  EXPECT_NEAR(share(2, 1), 2, 0.02);
  EXPECT_NEAR(share(0.5, 1), 0.5, 0.005);
  Comparison few;  // of which more is allowed
  few.cells = 4;
  few.squares = 4 * 4.0 / 400;
  EXPECT_LT(rms_over_limit(one.check, few), 0.35);
}

// A structure of one number is compared cell by cell, a plain number in pieces: both say the same of
// whatever stands there.
TEST(DeclaredCheck, PiecesAndSingleCellsAgreeOnEveryNumber) {
  const std::uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  const double specials[] = {0.0,       -0.0,   1.0,   -1.0,   NAN,     INFINITY,
                             -INFINITY, 5e-324, 1e-40, 3.4e38, 1.7e308, -1.7e308};
  for (int round = 0; round < 600; ++round) {
    const std::size_t cells = 1 + random() % 5000;
    const auto special = [&] { return specials[random() % std::size(specials)]; };
    // Rare, so that most pieces pass but for what is asked about.
    enum { kNowhere, kInTruth, kInResult, kInMagnitude };
    const std::uint64_t place = random() % 4, rare = 1 + random() % 1000, off = random() % 2 == 0 ? 2 : 2000;
    Compared<float, double> plain(Scalar::kFp32, {}, {}), single(Scalar::kFp32, {}, {});
    for (std::size_t i = 0; i < cells; ++i) {
      const bool here = random() % rare == 0;
      const double want =
          here && place == kInTruth ? special() : std::ldexp(double(random() % 4096) - 2048, -7);
      float got = static_cast<float>(want);
      if (random() % off == 0) got = std::nextafter(got, random() % 2 == 0 ? INFINITY : -INFINITY);
      if (here && place == kInResult) got = static_cast<float>(special());
      plain.want.push_back(want);
      plain.got.push_back(got);
      plain.magnitude.push_back(here && place == kInMagnitude ? special() : std::fabs(want) + 1e-3);
    }
    plain.check.kind = std::array{CheckKind::kExact, CheckKind::kTolerance, CheckKind::kUlps,
                                  CheckKind::kBound}[random() % 4];
    plain.check.relative = random() % 2 == 0 ? 0 : 0x1p-23;
    plain.check.absolute = random() % 2 == 0 ? 0 : 0x1p-24;
    plain.check.ulps = static_cast<std::int64_t>(random() % 2);
    plain.check.factor = random() % 2 == 0 ? 1 : 8;
    single = plain;
    single.array.type = declaration::structure_of("one", {{"x", Scalar::kFp32, 0}});
    const Comparison a = compare(plain.view(), 1), b = compare(single.view(), 1);
    ASSERT_EQ(a.wrong, b.wrong) << "seed " << seed << " round " << round;
    ASSERT_EQ(a.first, b.first);
    ASSERT_EQ(a.last, b.last);
    ASSERT_EQ(a.shown, b.shown);
    ASSERT_EQ(a.max_error_over_bound, b.max_error_over_bound) << "seed " << seed << " round " << round;
    ASSERT_NEAR(a.squares, b.squares, 1e-9 * a.squares) << "seed " << seed << " round " << round;
  }
}

TEST(DeclaredCheck, AnyFlippedBitOfAWholeNumberIsFound) {
  for (int bit = 0; bit < 32; ++bit) {
    Compared<int, int> one(Scalar::kInt32, {5, 6, 7}, {5, 6, 7});
    EXPECT_EQ(one.wrong(), 0);
    one.got[1] ^= static_cast<int>(1u << bit);
    EXPECT_EQ(one.wrong(), 1) << bit;
  }
}

TEST(DeclaredCheck, SaysWhatTheWrongCellsHaveInCommon) {
  std::vector<int> want(1000), got;
  for (int i = 0; i < 1000; ++i) want[std::size_t(i)] = i * i + 1;
  const auto pattern = [&](auto change) {
    got = want;
    for (int i = 0; i < 1000; ++i) change(i);
    const Compared<int, int> one(Scalar::kInt32, got, want);
    const Comparison comparison = compare(one.view(), 2);
    return pattern_of(one.view(), comparison);
  };
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  const int poison = std::bit_cast<int>(0xFFFEDEADu);
  EXPECT_EQ(pattern([&](int i) {
              if (i > 900) got[at(i)] = poison;
            }),
            "the wrong cells of out were never written");
  EXPECT_EQ(pattern([&](int i) {
              if (i == 999) got[at(i)] = 3;
            }),
            "only the last cell of out is wrong");
  EXPECT_EQ(pattern([&](int i) {
              if (i > 0) got[at(i)] = want[at(i - 1)];
            }),
            "each wrong cell holds the right value of the cell before it: is an index off by one?");
  EXPECT_EQ(pattern([&](int i) { got[at(i)] *= 3; }),
            "the first wrong cells are 3 times what they should be");
  EXPECT_EQ(
      pattern([&](int i) {
        if (i >= 768) got[at(i)] = i % 7;
      }),
      "the wrong cells are the last 232 of 1000: does the program process a block or tile that is not full?");
}

template <typename Got, typename Want>
std::string pattern_in(Scalar type, std::vector<Got> got, std::vector<Want> want) {
  Compared<Got, Want> one(type, std::move(got), std::move(want));
  one.check.kind = CheckKind::kTolerance;
  one.check.relative = 1e-6;
  return pattern_of(one.view(), compare(one.view(), 1));
}

TEST(DeclaredCheck, SaysThatASumWasFormedIn32Bits) {
  const std::vector<std::int64_t> want{10737418235000, -6000000000, 4294967296};
  std::vector<std::int64_t> got;
  for (const std::int64_t value : want) got.push_back(static_cast<std::int32_t>(value));
  EXPECT_NE(pattern_in(Scalar::kInt64, got, want).find("the last 32 bits of the right values"),
            std::string::npos);
  const std::vector<std::int64_t> small{5, 6}, others{7, 9};
  EXPECT_EQ(pattern_in(Scalar::kInt64, small, others), "") << "of values that 32 bits hold nothing is known";
}

TEST(DeclaredCheck, SaysThatAnOutputWasAddedToAndNotSet) {
  const auto poison = std::bit_cast<std::int32_t>(0xFFFEDEADu);
  const auto wide_poison = std::bit_cast<std::int64_t>(0xFFFEDEADFFFEDEADull);
  const std::vector<std::int32_t> want{7, 90}, got{poison + 7, poison + 90};
  const std::vector<std::int64_t> wide_want{3}, wide_got{wide_poison + 3};
  const std::string told = "added to what out held before";
  EXPECT_NE(pattern_in(Scalar::kInt32, got, want).find(told), std::string::npos);
  EXPECT_NE(pattern_in(Scalar::kInt64, wide_got, wide_want).find(told), std::string::npos);
}

TEST(DeclaredCheck, SaysWhereNaNAndInfinityComeFrom) {
  const auto of = [](float value) {
    return pattern_in<float, double>(Scalar::kFp32, {value, value}, {1, 2});
  };
  const std::string nan = of(std::nanf("")), infinite = of(INFINITY);
  EXPECT_NE(nan.find("read before it was set"), std::string::npos) << nan;
  EXPECT_NE(nan.find("88.73"), std::string::npos) << nan;
  EXPECT_NE(infinite.find("infinite: a step overflowed"), std::string::npos) << infinite;
  EXPECT_TRUE(std::isinf(std::exp(88.73f)) && std::isfinite(std::exp(88.72f)));
}

// The rounding of the type itself, which the compiler's conversion does.
TEST(DeclaredCheck, SaysThatErrorsAreThoseOfHalfTf32OrBfloat) {
  std::vector<double> want;
  std::vector<float> half, tf32_products, bfloat_products;
  for (int i = 1; i <= 64; ++i) {
    const float x = std::sin(static_cast<float>(i)) + 1.5f, y = std::cos(static_cast<float>(3 * i)) + 1.25f;
    want.push_back(static_cast<double>(x) * static_cast<double>(y));
    half.push_back(static_cast<float>(static_cast<_Float16>(want.back())));
    const auto rounded = [](float value, std::uint32_t unit) {
      return std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + unit / 2) & ~(unit - 1));
    };
    tf32_products.push_back(rounded(x, 1u << 13) * rounded(y, 1u << 13));
    bfloat_products.push_back(rounded(x, 1u << 16) * rounded(y, 1u << 16));
  }
  EXPECT_NE(pattern_in(Scalar::kFp32, half, want).find("the precision of half"), std::string::npos);
  EXPECT_NE(pattern_in(Scalar::kFp32, tf32_products, want).find("as when half or TF32 is used"),
            std::string::npos)
      << pattern_in(Scalar::kFp32, tf32_products, want);
  std::vector<float> scaled;
  for (const double value : want) scaled.push_back(static_cast<float>(1.0001 * value));
  EXPECT_EQ(pattern_in(Scalar::kFp32, scaled, want),
            "the first wrong cells are 1.0001 times what they should be");
  EXPECT_NE(pattern_in(Scalar::kFp32, bfloat_products, want).find("as when bfloat16 is used"),
            std::string::npos)
      << pattern_in(Scalar::kFp32, bfloat_products, want);
  std::vector<float> noise;
  for (std::size_t i = 0; i < want.size(); ++i)
    noise.push_back(static_cast<float>(want[i] * (1 + 0x1p-18 * (i % 3 ? 1 : -1))));
  EXPECT_EQ(pattern_in(Scalar::kFp32, noise, want), "") << "float's own rounding, added up";
}

TEST(DeclaredCheck, MessagesNameTheCellByItsIndices) {
  Compared<int, int> one(Scalar::kInt32, {1, 2, 3, 4, 5, 0}, {1, 2, 3, 4, 5, 6});
  OutputView view = one.view();
  view.shape = {2, 3};
  const Comparison comparison = compare(view, 1);
  EXPECT_EQ(message_of(view, comparison), "out[1,2] want 6 got 0; 1 of 6 cells are wrong");
  EXPECT_EQ(mismatches_of(view, comparison).at(0).at("col"), 2);
}

}  // namespace
}  // namespace warpgrade::declared
