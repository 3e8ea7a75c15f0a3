// The judge's kernels for declared labs, run by the emulator: drawn cells have the host's bits, and outputs
// are compared as the host compares them.
#include "judge/labs/declared/cell_work.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>
#include <thread>

#include "judge/judging/cuda_memory.h"
#include "judge/labs/declared/comparison.h"
#include "judge/labs/declared/draw.h"

namespace warpgrade::declared {
namespace {

using declaration::CheckKind;
using declaration::Draw;
using declaration::DrawKind;
using declaration::ElementType;
using declaration::Scalar;

constexpr DrawKind kKinds[] = {DrawKind::kUniform,     DrawKind::kNormal,    DrawKind::kIntegers,
                               DrawKind::kPermutation, DrawKind::kSorted,    DrawKind::kConstant,
                               DrawKind::kOneHot,      DrawKind::kDescending};

using Bytes = std::vector<std::byte>;

class CellWorkTest : public ::testing::Test {
 protected:
  void SetUp() override { RecordProperty("seed", std::to_string(seed_)); }

  Bytes on_device(const declaration::Draws& draws, const ElementType& type, std::int64_t row,
                  std::int64_t count, std::uint64_t seed) {
    Bytes cells(static_cast<std::size_t>(count) * type.bytes);
    const auto memory = work_->allocate(cells.size());
    work_->draw(field_draws(draws, type, row, seed, count), memory.get(), cells.size());
    WARPGRADE_CUDA(cudaMemcpy(cells.data(), memory.get(), cells.size(), cudaMemcpyDeviceToHost));
    return cells;
  }
  Bytes on_host(const declaration::Draws& draws, const ElementType& type, std::int64_t row,
                std::int64_t count, std::uint64_t seed) const {
    Bytes cells(static_cast<std::size_t>(count) * type.bytes, std::byte{0xee});
    draw_cells(draws, type, row, seed, 2, cells);
    return cells;
  }
  std::shared_ptr<std::byte> copied(const Bytes& cells) {
    auto memory = work_->allocate(cells.size());
    WARPGRADE_CUDA(cudaMemcpy(memory.get(), cells.data(), cells.size(), cudaMemcpyHostToDevice));
    return memory;
  }

  Draw some_draw(DrawKind kind) {
    std::uniform_real_distribution<double> real(-1000, 1000);
    Draw draw;
    draw.kind = kind;
    draw.low = real(random_);
    draw.high = draw.low + std::fabs(real(random_));
    draw.mean = real(random_);
    draw.deviation = std::fabs(real(random_));
    draw.whole_low = static_cast<std::int64_t>(random_() % 100);
    draw.whole_high = draw.whole_low + static_cast<std::int64_t>(random_() % 28);
    return draw;
  }

  std::uint64_t seed_ = std::random_device()();
  std::mt19937_64 random_{seed_};
  std::unique_ptr<CellWork> work_ = make_cuda_cell_work();
};

TEST_F(CellWorkTest, EveryWayOfDrawingHasTheHostsBitsInEveryType) {
  for (const DrawKind kind : kKinds) {
    for (const Scalar type : declaration::all_scalars()) {
      for (const std::int64_t thin : {0, 3}) {
        Draw draw = some_draw(kind);
        draw.thin_rows = thin;
        const std::int64_t row = 1 + static_cast<std::int64_t>(random_() % 40);
        const std::int64_t count = row * (1 + static_cast<std::int64_t>(random_() % 60));
        const std::uint64_t seed = random_();
        const ElementType element = declaration::element_of(type);
        ASSERT_EQ(on_device({draw}, element, row, count, seed), on_host({draw}, element, row, count, seed))
            << "kind " << static_cast<int>(kind) << " of " << element.name << ", seed of the test " << seed_;
      }
    }
  }
}

TEST_F(CellWorkTest, SeveralThreadsGetTheirOwnCellsOnTheHost) {
  const ElementType type = declaration::element_of(Scalar::kFp32);
  const Draw draw = some_draw(DrawKind::kNormal);
  std::vector<Bytes> cells(6);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < cells.size(); ++i)
      threads.emplace_back([&, i] {
        cells[i].resize((i + 1) * 4000);
        work_->draw_to_host(field_draws({draw}, type, 1, seed_ + i, static_cast<std::int64_t>(i + 1) * 1000),
                            cells[i]);
      });
  }
  for (std::size_t i = 0; i < cells.size(); ++i)
    EXPECT_EQ(cells[i], on_host({draw}, type, 1, static_cast<std::int64_t>(i + 1) * 1000, seed_ + i))
        << "seed " << seed_;
}

TEST_F(CellWorkTest, ArraysOfMoreThanOnePieceHaveEveryCell) {
  const std::int64_t count = (std::int64_t{9} << 20) + 3;  // 72 MiB
  const ElementType type = declaration::element_of(Scalar::kUint64);
  const Draw draw = some_draw(DrawKind::kIntegers);
  Bytes cells(static_cast<std::size_t>(count) * 8);
  work_->draw_to_host(field_draws({draw}, type, 1, seed_, count), cells);
  EXPECT_TRUE(cells == on_host({draw}, type, 1, count, seed_)) << "seed " << seed_;
}

TEST_F(CellWorkTest, ManyNumbersHaveTheHostsBits) {
  for (const DrawKind kind : {DrawKind::kNormal, DrawKind::kUniform, DrawKind::kSorted}) {
    const Draw draw = some_draw(kind);
    for (const Scalar type : {Scalar::kFp64, Scalar::kFp16}) {
      const ElementType element = declaration::element_of(type);
      ASSERT_EQ(on_device({draw}, element, 1, 100'003, seed_), on_host({draw}, element, 1, 100'003, seed_))
          << "kind " << static_cast<int>(kind) << " of " << element.name << ", seed " << seed_;
    }
  }
}

TEST_F(CellWorkTest, StructuresHaveTheirFieldsAndZerosBetween) {
  const ElementType type = declaration::structure_of(
      "Mixed",
      {{"flag", Scalar::kUint8}, {"place", Scalar::kFp64}, {"half", Scalar::kFp16}, {"id", Scalar::kInt32}});
  const declaration::Draws draws = {some_draw(DrawKind::kIntegers), some_draw(DrawKind::kNormal),
                                    some_draw(DrawKind::kUniform), some_draw(DrawKind::kPermutation)};
  EXPECT_EQ(on_device(draws, type, 7, 700, seed_), on_host(draws, type, 7, 700, seed_)) << "seed " << seed_;
}

// Numbers near each other, and every special one.
Bytes like(const Bytes& cells, Scalar type, std::mt19937_64& random) {
  constexpr double kSpecial[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e300};
  Bytes near = cells;
  const std::size_t bytes = bytes_of(type);
  for (std::size_t at = 0; at < cells.size(); at += bytes) {
    const std::uint64_t which = random();
    if (which % 16 == 0)
      write_real(type, kSpecial[which / 16 % std::size(kSpecial)], near.data() + at);
    else if (which % 4 == 0)
      near[at] ^= static_cast<std::byte>(1 + which / 16 % 3);
  }
  return near;
}

TEST_F(CellWorkTest, ComparesAsTheHostDoesByEveryCheckInEveryFloatingPointType) {
  const auto host = make_host_cell_work();
  std::int64_t same = 0, different = 0;
  // A sum that is rounded once on a GPU and twice here shows in the largest error, and seldom: so ten times.
  constexpr Scalar kTypes[] = {Scalar::kFp16, Scalar::kBf16, Scalar::kFp32, Scalar::kFp64};
  for (int round = 0; round < 40; ++round) {
    const Scalar type = kTypes[round % 4];
    const std::int64_t count = 3000;
    const Bytes wanted =
        like(on_host({some_draw(DrawKind::kNormal)}, declaration::element_of(type), 1, count, seed_), type,
             random_);
    const Bytes got = like(wanted, type, random_);
    const Bytes magnitudes = like(wanted, type, random_);
    const auto on_gpu = copied(got), wanted_there = copied(wanted), magnitudes_there = copied(magnitudes);
    for (const CheckKind kind :
         {CheckKind::kExact, CheckKind::kTolerance, CheckKind::kUlps, CheckKind::kBound}) {
      const CellLayout layout{type, 0, bytes_of(type)};
      const FieldComparison field{{kind, 1e-3, 1e-7, 2, 1e-3}, layout, layout, layout, count, 0.7};
      const Differences there =
          work_->compare(field, on_gpu.get(), wanted_there.get(), magnitudes_there.get());
      const Differences here = host->compare(field, got.data(), wanted.data(), magnitudes.data());
      EXPECT_EQ(there.cells, here.cells) << "check " << static_cast<int>(kind) << ", seed " << seed_;
      EXPECT_EQ(there.most, here.most) << "check " << static_cast<int>(kind) << ", seed " << seed_;
      EXPECT_NEAR(there.squares, here.squares, 1e-9 * here.squares);
      different += here.cells;
      same += count - here.cells;
    }
  }
  EXPECT_GT(same, 1000);
  EXPECT_GT(different, 1000);
}

TEST_F(CellWorkTest, AnyFlippedBitOfAWholeNumberIsADifference) {
  const ElementType type = declaration::element_of(Scalar::kUint16);
  const Bytes wanted = on_host({some_draw(DrawKind::kIntegers)}, type, 1, 500, seed_);
  const auto there = copied(wanted);
  const CellLayout layout{Scalar::kUint16, 0, 2};
  const FieldComparison field{{}, layout, layout, {}, 500, 1};
  EXPECT_EQ(work_->compare(field, there.get(), there.get(), nullptr).cells, 0);
  for (int bit = 0; bit < 16; ++bit) {
    Bytes got = wanted;
    const std::size_t cell = random_() % 500;
    got[2 * cell + static_cast<std::size_t>(bit) / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_EQ(work_->compare(field, copied(got).get(), there.get(), nullptr).cells, 1) << "seed " << seed_;
  }
}

TEST_F(CellWorkTest, EveryCellOfALargeArrayIsCompared) {
  const std::int64_t count = (std::int64_t{1} << 20) + 777;  // more than the kernel has threads
  const Bytes wanted(static_cast<std::size_t>(count), std::byte{3});
  Bytes got = wanted;
  for (const std::int64_t cell : {std::int64_t{5}, (std::int64_t{1} << 20) + 5, count - 1})
    got[static_cast<std::size_t>(cell)] = std::byte{4};
  const CellLayout layout{Scalar::kUint8, 0, 1};
  const FieldComparison field{{}, layout, layout, {}, count, 1};
  EXPECT_EQ(work_->compare(field, copied(got).get(), copied(wanted).get(), nullptr).cells, 3);
}

// 20 million cells beside fp64: 320 MB of answers and magnitudes, more than are on the device at once.
TEST_F(CellWorkTest, AnswersOfTheHostAreComparedPieceByPiece) {
  const std::int64_t count = 20'000'003;
  const auto cells = static_cast<std::size_t>(count);
  std::vector<float> got(cells);
  std::vector<double> wanted(cells), magnitudes(cells, 4);
  for (std::size_t i = 0; i < cells; ++i) {
    wanted[i] = static_cast<double>(mix_bits(seed_ + i) >> 40) + 0x1p-30;  // is rounded
    got[i] = static_cast<float>(wanted[i]);
  }
  const auto bytes = [](const auto& numbers) { return std::as_bytes(std::span(numbers)); };
  const auto copy = [&] {
    const auto from = bytes(got);
    return copied(Bytes(from.begin(), from.end()));
  };
  const FieldComparison field{{CheckKind::kBound, 0, 0, 0, 0.25},
                              {Scalar::kFp32, 0, 4},
                              {Scalar::kFp64, 0, 8},
                              {Scalar::kFp64, 0, 8},
                              count,
                              1};
  const auto compare = [&] {
    return work_->compare_with_host(field, copy().get(), bytes(wanted), bytes(magnitudes));
  };
  const Differences right = compare();
  EXPECT_EQ(right.cells, 0) << "seed " << seed_;
  EXPECT_EQ(right.most, 0x1p-30);
  for (const std::size_t cell : {std::size_t{0}, cells / 2, cells - 1}) got[cell] += 2;
  magnitudes[cells - 1] = 8;  // here an error of 2 is allowed
  const Differences wrong = compare();
  EXPECT_EQ(wrong.cells, 2) << "seed " << seed_;
  EXPECT_NEAR(wrong.most, 1, 1e-8);
}

TEST_F(CellWorkTest, AbsoluteNumbersHaveNoSign) {
  const ElementType type = declaration::element_of(Scalar::kFp32);
  Bytes cells = on_host({some_draw(DrawKind::kNormal)}, type, 1, 777, seed_);
  const auto there = copied(cells);
  work_->make_absolute(Scalar::kFp32, there.get(), 777);
  Bytes absolute(cells.size());
  WARPGRADE_CUDA(cudaMemcpy(absolute.data(), there.get(), cells.size(), cudaMemcpyDeviceToHost));
  for (std::size_t at = 3; at < cells.size(); at += 4) cells[at] &= std::byte{0x7f};
  EXPECT_EQ(absolute, cells);
}

}  // namespace
}  // namespace warpgrade::declared
