// Outputs of a pair's programs, in buffers on the host: kept, and compared by the lab's check.
#include "judge/labs/declared/pair_outputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "base/files.h"

namespace warpgrade::declared {
namespace {

constexpr int kCells = 500;
constexpr const char* kLab = R"y(schema: warpgrade.lab.v1
name: sums
summary: sums and counts
parameters: {n: int}
arrays:
  in: {type: fp32, shape: [n]}
  sum: {type: fp32, shape: [n], role: output}
  count: {type: int64, shape: [n], role: output}
call: "cudaError_t sums_run(const float* in, int n, float* sum, long long* count, cudaStream_t stream)"
truth: oracle.py
check:
  sum: {bound: 4, rms: 1, magnitude: absolute_inputs}
  count: exact
work: {bytes: 8*n}
cases:
  - {id: some, n: 500}
)y";

class PairOutputsTest : public ::testing::Test {
 protected:
  PairOutputsTest() {
    const std::filesystem::path folder = scratch_.path() / "sums";
    make_directories(folder);
    write_text(folder / "lab.yaml", kLab);
    write_text(folder / "oracle.py", "def sums(): pass\n");
    lab_ = declaration::parse_lab(kLab, folder / "lab.yaml");
    buffers_->add_output("sum", kCells * sizeof(float), false);
    buffers_->add_output("count", kCells * sizeof(std::int64_t), false);
    pairs_ = std::make_unique<PairOutputs>(lab_, lab_.cases.front(), *buffers_, *work_, 2);
    for (int i = 0; i < kCells; ++i) {
      sums_.push_back(std::uniform_real_distribution<float>(-1, 1)(random_));
      counts_.push_back(static_cast<std::int64_t>(random_()));
      magnitudes_.push_back(10);
    }
    magnitudes_[7] = -10;  // its sign does not count
  }
  void keep(int program, const std::vector<float>& sums, const std::vector<std::int64_t>& counts) {
    show(sums, counts);
    pairs_->keep(program);
  }
  void keep_magnitudes() {
    show(magnitudes_, counts_);
    pairs_->keep_magnitudes();
  }
  void show(const std::vector<float>& sums, const std::vector<std::int64_t>& counts) {
    std::memcpy(buffers_->output(0), sums.data(), kCells * sizeof(float));
    std::memcpy(buffers_->output(1), counts.data(), kCells * sizeof(std::int64_t));
  }

  TemporaryDirectory scratch_{"warpgrade-pairs"};
  declaration::LabDeclaration lab_;
  std::uint64_t seed_ = std::random_device()();
  std::mt19937_64 random_{seed_};
  std::unique_ptr<ArrayBuffers> buffers_ = make_host_array_buffers();
  std::unique_ptr<CellWork> work_ = make_host_cell_work();
  std::unique_ptr<PairOutputs> pairs_;
  std::vector<float> sums_, magnitudes_;
  std::vector<std::int64_t> counts_;
};

TEST_F(PairOutputsTest, AreKeptUntilThePairIsOver) {
  EXPECT_FALSE(pairs_->has(PairOutputs::kSubmission));
  keep(PairOutputs::kSubmission, sums_, counts_);
  keep(PairOutputs::kBaseline, sums_, counts_);
  show(std::vector<float>(kCells, 9), std::vector<std::int64_t>(kCells, 9));  // the next program's
  EXPECT_TRUE(pairs_->compare(PairOutputs::kSubmission, {}).same);
  pairs_->clear();
  EXPECT_FALSE(pairs_->has(PairOutputs::kSubmission));
  EXPECT_FALSE(pairs_->has(PairOutputs::kBaseline));
}

TEST_F(PairOutputsTest, OneFlippedBitOfAWholeNumberIsADifferenceOfWhicheverProgram) {
  for (const int program : {PairOutputs::kSubmission, PairOutputs::kBaseline + 1}) {
    auto counts = counts_;
    counts[random_() % kCells] ^= std::int64_t{1} << random_() % 64;
    keep(PairOutputs::kBaseline, sums_, counts_);
    keep(program, sums_, counts);
    EXPECT_FALSE(pairs_->compare(program, {}).same) << "seed " << seed_;
  }
}

TEST_F(PairOutputsTest, ABoundWithoutMagnitudesTakesEqualNumbersAlone) {
  auto sums = sums_;
  sums[3] = std::nextafter(sums[3], 2.0f);
  keep(PairOutputs::kBaseline, sums_, counts_);
  keep(PairOutputs::kSubmission, sums, counts_);
  EXPECT_FALSE(pairs_->compare(PairOutputs::kSubmission, {}).same);
  keep_magnitudes();
  EXPECT_TRUE(pairs_->compare(PairOutputs::kSubmission, {}).same);
}

TEST_F(PairOutputsTest, TheBaselinesOwnErrorIsTakenOffTheBound) {
  const auto off_by = [&](double share) {
    auto sums = sums_;
    sums[7] = static_cast<float>(sums[7] + share * 4 * 0x1p-24 * 10);
    return sums;
  };
  keep(PairOutputs::kBaseline, sums_, counts_);
  keep_magnitudes();
  keep(PairOutputs::kSubmission, off_by(0.7), counts_);
  EXPECT_TRUE(pairs_->compare(PairOutputs::kSubmission, Held{0.2, 0}).same);
  EXPECT_FALSE(pairs_->compare(PairOutputs::kSubmission, Held{0.4, 0}).same);
  keep(PairOutputs::kSubmission, off_by(1.1), counts_);
  EXPECT_FALSE(pairs_->compare(PairOutputs::kSubmission, Held{0, 0}).same);
}

TEST_F(PairOutputsTest, ErrorsOfAllCellsTogetherAreMeasured) {
  auto sums = sums_;
  for (float& sum : sums) sum = static_cast<float>(sum + 2 * 0x1p-24 * 10);
  keep(PairOutputs::kBaseline, sums_, counts_);
  keep_magnitudes();
  keep(PairOutputs::kSubmission, sums, counts_);
  const OutputsCompared compared = pairs_->compare(PairOutputs::kSubmission, {});
  EXPECT_TRUE(compared.same);
  EXPECT_NEAR(compared.rms_over_limit, 2 / std::sqrt(1 + 125 * std::pow(500, -0.9)), 0.05);
}

TEST_F(PairOutputsTest, NaNIsTheSameAsNaNAlone) {
  auto sums = sums_;
  sums[11] = std::numeric_limits<float>::quiet_NaN();
  keep(PairOutputs::kBaseline, sums, counts_);
  keep(PairOutputs::kSubmission, sums, counts_);
  keep_magnitudes();
  EXPECT_TRUE(pairs_->compare(PairOutputs::kSubmission, {}).same);
  keep(PairOutputs::kSubmission, sums_, counts_);
  EXPECT_FALSE(pairs_->compare(PairOutputs::kSubmission, {}).same);
  keep(PairOutputs::kBaseline, sums_, counts_);
  keep(PairOutputs::kSubmission, sums, counts_);
  EXPECT_FALSE(pairs_->compare(PairOutputs::kSubmission, {}).same);
}

}  // namespace
}  // namespace warpgrade::declared
