// Timed repetitions that the main baseline answers: what is found when the submission, the baseline or the
// oracle is wrong, with buffers on the host.
#include "judge/labs/declared/repetition_truth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"

namespace warpgrade::declared {
namespace {

using declaration::CheckKind;
using declaration::Scalar;
using Program = RepetitionTruth::Program;
using Source = RepetitionTruth::Source;

constexpr int kChosen = 4, kOwn = 0, kHard = 1;  // a repetition; kinds of inputs

class RepetitionTruthTest : public ::testing::Test {
 protected:
  // What the oracle says of both programs, and how often it was asked.
  std::optional<RepetitionTruth::Finding> settle(RepetitionTruth& truth, const OutputsCompared& outputs) {
    return truth.settle(
        kOwn, outputs,
        [this](Program program) -> std::optional<RepetitionTruth::Finding> {
          ++asked_;
          const std::string& wrong =
              program == Program::kBaseline ? baseline_is_wrong_ : submission_is_wrong_;
          if (wrong.empty()) return std::nullopt;
          RepetitionTruth::Finding finding;
          finding.message = wrong;
          return finding;
        },
        [](const RepetitionTruth::Finding& finding) { throw JudgeFault("baseline: {}", finding.message); });
  }

  std::string baseline_is_wrong_, submission_is_wrong_;
  int asked_ = 0;
  OutputsCompared same_{true, 0}, different_{false, 0};
};

TEST_F(RepetitionTruthTest, TheOracleAnswersUntilItHasAcceptedTheBaseline) {
  RepetitionTruth truth(kChosen, {});
  EXPECT_EQ(truth.source(1, kOwn), Source::kOracle);
  truth.hold(kOwn, {0.25, 0});
  EXPECT_EQ(truth.source(2, kOwn), Source::kBaseline);
  EXPECT_EQ(RepetitionTruth(kChosen, {{kOwn, Held()}}).source(1, kOwn),
            Source::kBaseline);  // it was held in a case before
}

// Its outputs may be right for the case's own inputs and wrong for others.
TEST_F(RepetitionTruthTest, TheBaselineIsHeldForEachKindOfInputsByItself) {
  RepetitionTruth truth(kChosen, {{kOwn, {0.25, 0}}});
  EXPECT_EQ(truth.source(2, kHard), Source::kOracle);
  truth.hold(kHard, {0.5, 0});
  EXPECT_EQ(truth.source(2, kHard), Source::kBaseline);
  EXPECT_EQ(truth.held(kHard).error_over_bound, 0.5);
  EXPECT_EQ(truth.held(kOwn).error_over_bound, 0.25);
}

TEST_F(RepetitionTruthTest, TheChosenRepetitionIsTheOraclesAndIsOwedUntilItHasAnsweredForBoth) {
  RepetitionTruth truth(kChosen, {{kOwn, Held()}});
  EXPECT_EQ(truth.source(kChosen, kOwn), Source::kOracle);
  truth.count_oracle(1, true);
  EXPECT_TRUE(truth.owes_oracle());
  truth.count_oracle(kChosen, false);
  EXPECT_TRUE(truth.owes_oracle());
  truth.count_oracle(kChosen, true);
  EXPECT_FALSE(truth.owes_oracle());
}

TEST_F(RepetitionTruthTest, EqualOutputsNeedNoOracle) {
  RepetitionTruth truth(kChosen, {{kOwn, Held()}});
  EXPECT_FALSE(settle(truth, same_).has_value());
  EXPECT_EQ(asked_, 0);
  EXPECT_EQ(truth.to_json().at("baseline"), 1);
}

TEST_F(RepetitionTruthTest, AWrongSubmissionGetsTheOraclesWords) {
  submission_is_wrong_ = "out[3] want 5 got 7; 1 of 9 cells are wrong";
  RepetitionTruth truth(kChosen, {{kOwn, Held()}});
  const auto finding = settle(truth, different_);
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(finding->message, submission_is_wrong_);
}

// Nor can a submission that reaches the baseline's output make it say so: both are held against the oracle.
TEST_F(RepetitionTruthTest, AWrongOrAttackedBaselineIsTheJudgesFaultWithBothAnswers) {
  baseline_is_wrong_ = "out[3] want 5 got 7; 1 of 9 cells are wrong";
  for (const char* of_submission : {"", "out[3] want 5 got 9"}) {
    submission_is_wrong_ = of_submission;
    RepetitionTruth truth(kChosen, {{kOwn, Held()}});
    try {
      settle(truth, different_);
      FAIL() << "no fault";
    } catch (const JudgeFault& fault) {
      EXPECT_NE(std::string(fault.what()).find("want 5 got 7"), std::string::npos) << fault.what();
    }
  }
}

TEST_F(RepetitionTruthTest, AfterThreeDifferencesThatWereRightTheOracleAnswersAll) {
  RepetitionTruth truth(kChosen, {{kOwn, Held()}});
  for (int time = 0; time < RepetitionTruth::kMostAskedAgain; ++time) {
    EXPECT_EQ(truth.source(10 + time, kOwn), Source::kBaseline);
    EXPECT_FALSE(settle(truth, different_).has_value());
  }
  EXPECT_EQ(asked_, 2 * RepetitionTruth::kMostAskedAgain);
  EXPECT_EQ(truth.source(20, kOwn), Source::kOracle);
  EXPECT_EQ(truth.to_json().at("asked_again"), 3);
}

TEST_F(RepetitionTruthTest, ErrorsThatAreLargeTogetherAreAskedAboutTheBaselinesOwnIncluded) {
  RepetitionTruth truth(kChosen, {{kOwn, {0.3, 0.45}}});
  EXPECT_FALSE(settle(truth, {true, 0.5}).has_value());
  EXPECT_EQ(asked_, 0);
  submission_is_wrong_ = "the errors of all are 1.3 times as large as they may be";
  EXPECT_TRUE(settle(truth, {true, 0.6}).has_value());
}

// No pair of outputs that is accepted so is refused by the oracle's check, wherever within its measured error
// the baseline lies: the comparison is the kernels' own formula.
TEST_F(RepetitionTruthTest, WhatTheBaselineAcceptsTheOracleAcceptsByEveryCheck) {
  const std::uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> part(-1.3, 1.3), real(-1e3, 1e3);
  int accepted = 0, refused = 0;
  for (int round = 0; round < 200000; ++round) {
    constexpr CheckKind kinds[] = {CheckKind::kTolerance, CheckKind::kUlps, CheckKind::kBound};
    CellCheck check{kinds[round % 3], 1e-2, round % 2 == 0 ? 0.2 : 1e-6, 40, 1e-5};
    const double truth = real(random), magnitude = std::fabs(truth) + std::fabs(real(random));
    const double allowed = check.kind == CheckKind::kBound ? check.unit * magnitude
                           : check.kind == CheckKind::kUlps
                               ? 40 * std::ldexp(1, std::ilogb(truth) - 52)
                               : check.absolute + check.relative * std::fabs(truth);
    alignas(8) std::byte baseline[8], got[8];
    write_real(Scalar::kFp64, truth + 0.7 * part(random) * allowed, baseline);
    write_real(Scalar::kFp64, truth + part(random) * allowed, got);
    const Held held{error_over_bound(check, Scalar::kFp64, baseline, truth, magnitude), 0};
    if (!(held.error_over_bound <= 1)) continue;
    const double rounded_magnitude = magnitude * (1 + 1e-3 * part(random));
    const double share =
        error_over_bound(check, Scalar::kFp64, got, read_real(Scalar::kFp64, baseline), rounded_magnitude);
    if (!(share <= share_left(check, held))) {
      ++refused;
      continue;
    }
    ++accepted;
    ASSERT_LE(error_over_bound(check, Scalar::kFp64, got, truth, magnitude), 1 + 1e-12)
        << "check " << static_cast<int>(check.kind) << ", round " << round << ", seed " << seed;
  }
  EXPECT_GT(accepted, 10000);
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace warpgrade::declared
