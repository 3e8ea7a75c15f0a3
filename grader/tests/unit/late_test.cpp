// Slip days: days late over the course for nothing. Autolab's grace days are the model
// (app/models/submission.rb of autolab/Autolab: grace_days_used, penalty_late_days).
#include "course/score/late.h"

#include <gtest/gtest.h>

#include "score_support.h"

namespace warpgrade {
namespace {

constexpr double kDay = 86400;

Policy::Late rules(double cap = 100, double max_days = 7) {
  Policy::Late late;
  late.grace_minutes = 10;
  late.cap_percent = cap;
  late.max_days = max_days;
  late.slip_days = 4;
  return late;
}

TEST(SlipDays, PayForDaysLateAndTheRestCostsAsEver) {
  const LateLoss all = late_loss(rules(), 1.5 * kDay, false, 80, 4);
  EXPECT_DOUBLE_EQ(all.days, 2);
  EXPECT_DOUBLE_EQ(all.slip_days, 2);
  EXPECT_DOUBLE_EQ(all.percent, 0);
  const LateLoss some = late_loss(rules(), 1.5 * kDay, false, 80, 1);
  EXPECT_DOUBLE_EQ(some.slip_days, 1);
  EXPECT_DOUBLE_EQ(some.percent, 10);
  EXPECT_DOUBLE_EQ(some.points_lost, 8);
  EXPECT_DOUBLE_EQ(late_loss(rules(), 1.5 * kDay, false, 80, 0).percent, 20);
}

TEST(SlipDays, NoneIsUsedWhereItSavesNothing) {
  EXPECT_DOUBLE_EQ(late_loss(rules(), 300, false, 80, 4).slip_days, 0) << "within grace";
  EXPECT_DOUBLE_EQ(late_loss(rules(), -1, false, 80, 4).slip_days, 0) << "in time";
  EXPECT_DOUBLE_EQ(late_loss(rules(), kDay, false, 0, 4).slip_days, 0) << "nothing to lose";
  EXPECT_DOUBLE_EQ(late_loss(rules(), 20 * kDay, false, 80, 4).slip_days, 0) << "too late in any case";
  EXPECT_DOUBLE_EQ(late_loss(rules(20), 7 * kDay, false, 80, 4).slip_days, 0)
      << "the cap holds before and after";
}

TEST(SlipDays, OneThatBringsItBelowTheLastDayIsEnoughWhereMoreSaveNothing) {
  const LateLoss loss = late_loss(rules(20), 8 * kDay, false, 80, 4);
  EXPECT_DOUBLE_EQ(loss.slip_days, 1);
  EXPECT_DOUBLE_EQ(loss.percent, 20);
}

TEST(SlipDays, NeverCostAnythingAndAreNeverOverdrawn) {
  for (double days = 0; days < 12; days += 0.5)
    for (double left = 0; left < 6; ++left)
      for (const double cap : {100.0, 30.0, 0.0}) {
        const LateLoss with = late_loss(rules(cap), days * kDay, false, 100, left);
        const LateLoss without = late_loss(rules(cap), days * kDay, false, 100, 0);
        EXPECT_LE(with.points_lost, without.points_lost) << days << " days, " << left << " left, cap " << cap;
        EXPECT_LE(with.slip_days, std::min(left, with.days)) << days << " days, " << left << " left";
        EXPECT_EQ(with.slip_days > 0, with.points_lost < without.points_lost) << days << " " << left;
      }
}

TEST(SlipDays, AMarkWithoutATimeCountsItsDays) {
  EXPECT_DOUBLE_EQ(late_loss(rules(), std::nullopt, true, 80, 4).slip_days, 1);
  EXPECT_DOUBLE_EQ(late_loss(rules(), std::nullopt, false, 80, 4).days, 0);
}

TEST(SlipDays, TheRulesSurviveScoresJson) {
  Policy::Late late = rules(50, 3);
  late.slip_days_per_team = true;
  late.marked_days = 2;
  const Policy::Late again = late_rules_from(late_rules_json(late));
  EXPECT_EQ(late_rules_json(again), late_rules_json(late));
  EXPECT_TRUE(again.slip_days_per_team);
  EXPECT_DOUBLE_EQ(again.slip_days, 4);
  EXPECT_DOUBLE_EQ(again.marked_days, 2);
}

TEST(SlipDays, ARunHasTheWholeBudgetAndTellsTheStudent) {
  json run = run_of("cuda");
  run["submissions"][0]["late_s"] = 3 * 3600;
  const std::string text = std::string(kPolicy) + "late: {slip_days: 3, slip_days_per: team}\n";
  const json scores = score(policy(text), run, {record("cora-k32", "accepted"), timed(2.1, 2.2, 2.3)});
  EXPECT_DOUBLE_EQ(only(scores).at("points"), 100);
  EXPECT_EQ(only(scores).at("late").at("slip_days"), 1);
  EXPECT_EQ(
      only(scores).at("late").at("note"),
      "Handed in 3 h 0 min after the deadline. 1 of your team's 3 slip days is used: nothing is taken off.");
  EXPECT_EQ(scores.at("late_rules").at("slip_days_per"), "team");
}

TEST(SlipDays, APolicyWithoutLateRulesHasNone) {
  EXPECT_FALSE(score(policy(), run_of("cuda"), {record("cora-k32", "accepted")}).contains("late_rules"));
}

}  // namespace
}  // namespace warpgrade
