#include "course/score/score.h"

#include <gtest/gtest.h>

#include "course/batch/nodes.h"
#include "score_support.h"

namespace warpgrade {
namespace {

json left_out(const std::string& id) {
  json r = record(id, "not_run");
  r["outcome"]["reason"] = "left_out";
  r["outcome"]["message"] = "left out: the interface SpMMOpt was never promised this";
  return r;
}

TEST(Score, ACaseThatIsLeftOutIsNoneOfTheSubmissionsCases) {
  const json s = only(score(policy(), run_of("cuda"), {left_out("cora-k32"), timed(2.1, 2.2, 2.3)}));
  EXPECT_DOUBLE_EQ(s.at("points"), 100);
  EXPECT_EQ(s.at("verdict"), "accepted");
  EXPECT_EQ(s.at("total_cases"), 1);
  EXPECT_EQ(s.at("left_out_cases"), 1);
  EXPECT_EQ(s.at("undecided_cases"), 0);
  EXPECT_NE(s.at("cases")[0].at("note").get<std::string>().find("left out"), std::string::npos);
}

TEST(Score, ALeftOutSpeedCaseNeitherCountsNorGates) {
  const json s =
      only(score(policy(), run_of("cuda"), {record("cora-k32", "accepted"), left_out("arxiv-k32")}));
  EXPECT_EQ(s.at("threshold_cases"), 0);
  EXPECT_EQ(s.at("correct_cases"), 1);
  EXPECT_EQ(s.at("verdict"), "accepted");
}

TEST(Score, WhoIsJudgedOnNothingIsNotAccepted) {
  const json s = only(score(policy(), run_of("cuda"), {left_out("cora-k32"), left_out("arxiv-k32")}));
  EXPECT_EQ(s.at("verdict"), "not_run");
  EXPECT_DOUBLE_EQ(s.at("points"), 0);
}

TEST(Score, FullPointsForCorrectAndFastEnough) {
  const json s =
      only(score(policy(), run_of("cuda"), {record("cora-k32", "accepted"), timed(2.1, 2.2, 2.3)}));
  EXPECT_DOUBLE_EQ(s.at("points"), 100);
  EXPECT_EQ(s.at("cases")[1].at("threshold_status"), "pass");
  EXPECT_EQ(s.at("over_threshold"), 1);
}

TEST(Score, TellsFromWhichNodesThresholdsWereDecided) {
  json there = timed(2.4, 2.5, 2.6);
  there["node"] = "n2";
  json correct = record("cora-k32", "accepted");
  correct["node"] = "n1";
  const json scores = score(policy(), run_of("cuda"), {correct, there});
  EXPECT_EQ(scores.at("threshold_nodes"), "n2 (1)") << "no threshold stands behind what n1 judged";
  EXPECT_EQ(threshold_nodes_text(scores), "thresholds were decided by times of n2 (1)\n");
  there.erase("node");
  EXPECT_FALSE(score(policy(), run_of("cuda"), {there}).contains("threshold_nodes")) << "no cluster";
}

TEST(Score, NoiseAtTheThresholdGoesToTheStudentByDefault) {
  const json s =
      only(score(policy(), run_of("cuda"), {record("cora-k32", "accepted"), timed(1.9, 1.98, 2.05)}));
  EXPECT_EQ(s.at("cases")[1].at("threshold_status"), "within_noise");
  EXPECT_DOUBLE_EQ(s.at("points"), 100);
}

// A vector_add 17 % too slow had all its points, because its own interval was as wide.
TEST(Score, AWideIntervalOfTheSubmissionsOwnBuysNothing) {
  json noisy = timed(1.5, 1.7, 2.2);
  noisy["ratios"]["cusparse_default"]["noise"] = 0.02;
  const json s = only(score(policy(), run_of("cuda"), {record("cora-k32", "accepted"), std::move(noisy)}));
  EXPECT_EQ(s.at("cases")[1].at("threshold_status"), "fail");
  EXPECT_LT(s.at("points").get<double>(), 100);
}

TEST(Score, NoiseThatAnHonestProgramHasIsExcused) {
  json steady = timed(1.96, 1.97, 1.98);
  steady["ratios"]["cusparse_default"]["noise"] = 0.02;
  const json s = only(score(policy(), run_of("cuda"), {record("cora-k32", "accepted"), std::move(steady)}));
  EXPECT_EQ(s.at("cases")[1].at("threshold_status"), "within_noise");
  EXPECT_DOUBLE_EQ(s.at("points"), 100);
}

TEST(Score, APolicyMayCountHostCodeAsWell) {
  const std::string text = std::string(kPolicy) + "time: device_and_host\n";
  json slow_host = timed(2.1, 2.2, 2.3);
  slow_host["ratios_with_host"]["cusparse_default"] = {{"median", 1.5}, {"low", 1.49}, {"high", 1.51}};
  const json s =
      only(score(policy(text), run_of("cuda"), {record("cora-k32", "accepted"), std::move(slow_host)}));
  EXPECT_EQ(s.at("cases")[1].at("threshold_status"), "fail");
  EXPECT_DOUBLE_EQ(s.at("points"), 40 + 60 * 0.5);
}

TEST(Score, PartialCreditGrowsLinearly) {
  const json s =
      only(score(policy(), run_of("cuda"), {record("cora-k32", "accepted"), timed(1.49, 1.5, 1.51)}));
  EXPECT_EQ(s.at("cases")[1].at("threshold_status"), "fail");
  EXPECT_DOUBLE_EQ(s.at("points"), 40 + 60 * 0.5);
}

TEST(Score, SpeedCountsOnlyWhenEveryCaseIsCorrect) {
  const json s =
      only(score(policy(), run_of("cuda"), {record("cora-k32", "wrong_answer"), timed(2.9, 3, 3.1)}));
  EXPECT_DOUBLE_EQ(s.at("points"), 20);
  EXPECT_EQ(s.at("verdict"), "wrong_answer");
}

TEST(Score, AJudgeFaultIsNeverAZero) {
  const json s =
      only(score(policy(), run_of("cuda"), {record("cora-k32", "judge_fault"), timed(2.1, 2.2, 2.3)}));
  EXPECT_DOUBLE_EQ(s.at("points"), 100);
  EXPECT_EQ(s.at("undecided_cases"), 1);
  EXPECT_EQ(s.at("verdict"), "judge_fault");
}

TEST(Score, OnTheEmulatorSpeedIsNotMeasuredAndNotAsked) {
  const json scores =
      score(policy(), run_of("emulator"), {record("cora-k32", "accepted"), record("arxiv-k32", "accepted")});
  EXPECT_DOUBLE_EQ(scores.at("max_points"), 100) << "what the lab is worth does not depend on the machine";
  EXPECT_DOUBLE_EQ(scores.at("measured_points"), 40);
  EXPECT_DOUBLE_EQ(only(scores).at("points"), 40);
  EXPECT_EQ(only(scores).at("cases")[1].at("threshold_status"), "not_measured");
}

// ---- lateness, gates, refusals ----

json late_run(const json& about) {
  json run = run_of("cuda");
  run["submissions"][0].update(about);
  return run;
}

json late_of(const json& about) {
  const std::string rules = "late: {grace_minutes: 10, percent_per_day: 10, max_days: 7}\n";
  return only(score(policy(kPolicy + rules), late_run(about),
                    {record("cora-k32", "accepted"), timed(2.1, 2.2, 2.3)}));
}

TEST(Late, WhoIsInTimeOrOfUnknownTimeHearsNothingOfIt) {
  for (const json& about : {json{{"late_s", 0}}, json::object()}) {
    const json s = late_of(about);
    EXPECT_FALSE(s.contains("late"));
    EXPECT_FALSE(s.contains("points_before_late"));
    EXPECT_DOUBLE_EQ(s.at("points"), 100);
  }
}

TEST(Late, GraceCostsNothingAndIsCalledGrace) {
  const json s = late_of({{"late_s", 360}});
  EXPECT_DOUBLE_EQ(s.at("points"), 100);
  EXPECT_EQ(s.at("late").at("note"),
            "Handed in 6 min after the deadline, within the grace of 10 minutes: nothing is taken off.");
}

TEST(Late, WhoIsLateHearsWhatItCost) {
  const json s = late_of({{"late_s", 3660}});
  EXPECT_DOUBLE_EQ(s.at("points"), 90);
  EXPECT_EQ(s.at("late").at("note"),
            "Handed in 1 h 1 min after the deadline: 10 % is taken off, 10 of 100 points.");
  EXPECT_EQ(late_of({{"late_marked", true}}).at("late").at("note"),
            "Marked late by the LMS, which does not say by how much: 10 % is taken off, 10 of 100 points.");
}

const std::string kGate = std::string(kPolicy).replace(std::string(kPolicy).find("gate: correct"), 13,
                                                       "gate: {correct, faster_than: {naive: 1.2}}");

json with_naive(double ratio) {
  json r = timed(2.1, 2.2, 2.3);
  r["ratios"]["naive"] = {{"median", ratio}, {"low", ratio - 0.01}, {"high", ratio + 0.01}};
  return r;
}

TEST(Gate, ACopyOfTheNaiveSolutionEarnsNothing) {
  const json slow =
      only(score(policy(kGate), run_of("cuda"), {record("cora-k32", "accepted"), with_naive(1.0)}));
  EXPECT_DOUBLE_EQ(slow.at("points"), 0);
  EXPECT_DOUBLE_EQ(slow.at("parts").at("correctness"), 0);
  EXPECT_DOUBLE_EQ(slow.at("parts").at("speed"), 0);
  EXPECT_EQ(slow.at("gates")[0].at("status"), "fail");
  EXPECT_NEAR(slow.at("gates")[0].at("reached").get<double>(), 1.0, 1e-9);
  const json fast =
      only(score(policy(kGate), run_of("cuda"), {record("cora-k32", "accepted"), with_naive(1.5)}));
  EXPECT_DOUBLE_EQ(fast.at("points"), 100);
  EXPECT_EQ(fast.at("gates")[0].at("status"), "pass");
}

TEST(Gate, WhatItStopsKeepsNoPartOfTheSpeedPoints) {
  json nearly =
      timed(1.5, 1.6, 1.7);  // of the 2 that the threshold wants: three quarters of the points by `partial`
  nearly["ratios"]["naive"] = {{"median", 1.0}, {"low", 0.99}, {"high", 1.01}};
  const json s = only(score(policy(kGate), run_of("cuda"), {record("cora-k32", "accepted"), nearly}));
  EXPECT_DOUBLE_EQ(s.at("points"), 0);
  EXPECT_GT(only(score(policy(), run_of("cuda"), {record("cora-k32", "accepted"), nearly})).at("points"), 40);
}

TEST(Gate, IsOpenWhereSpeedIsNotMeasured) {
  const json s = only(score(policy(kGate), run_of("emulator"),
                            {record("cora-k32", "accepted"), record("arxiv-k32", "accepted")}));
  EXPECT_EQ(s.at("gates")[0].at("status"), "not_measured");
  EXPECT_DOUBLE_EQ(s.at("points"), 40);
}

TEST(Gate, WhoseSpeedCasesAllFailIsNotFaster) {
  const json s = only(score(policy(kGate), run_of("cuda"),
                            {record("cora-k32", "accepted"), record("arxiv-k32", "time_limit")}));
  EXPECT_EQ(s.at("gates")[0].at("status"), "fail");
  EXPECT_DOUBLE_EQ(s.at("points"), 0);
}

TEST(Score, PartsAddUpToThePointsBeforeLateness) {
  const json s = late_of({{"late_s", 3660}});
  EXPECT_DOUBLE_EQ(s.at("parts").at("correctness").get<double>() + s.at("parts").at("speed").get<double>(),
                   100);
}

TEST(Score, ARefusedHandInIsNoCompileError) {
  const json s = only(score(policy(), late_run({{"refused", "unread_archive"}}),
                            {record("cora-k32", "compile_error"), record("arxiv-k32", "compile_error")}));
  EXPECT_EQ(s.at("verdict"), "refused");
}

TEST(Score, IsAFunctionOfItsArguments) {
  const std::vector<Record> records{record("cora-k32", "accepted"), timed(1.4, 1.5, 1.6)};
  EXPECT_EQ(score(policy(), run_of("cuda"), records), score(policy(), run_of("cuda"), records));
}

}  // namespace
}  // namespace warpgrade
