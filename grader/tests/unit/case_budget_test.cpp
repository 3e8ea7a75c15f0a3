// What a case's calls may take together: what counts, what is left, and when it is enough for what must come.
#include "judge/judging/case_budget.h"

#include <gtest/gtest.h>

namespace warpgrade {
namespace {

using protocol::Op;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(CaseBudget, CountsTheSubmissionsCallsAlone) {
  CaseBudget budget(seconds(60));
  budget.end_call(Op::kAttach, seconds(5));
  budget.end_call(Op::kNull, seconds(5));
  budget.end_call(Op::kReport, seconds(5));
  EXPECT_EQ(budget.rest(), seconds(60));
  budget.end_call(Op::kPlan, seconds(8));
  budget.end_call(Op::kRun, seconds(8));
  budget.end_call(Op::kFree, seconds(8));
  EXPECT_EQ(budget.rest(), seconds(36));
}

TEST(CaseBudget, ACallEndsWithItsOwnLimitOrWithWhatIsLeft) {
  CaseBudget budget(seconds(45));
  EXPECT_EQ(budget.limit_for(Op::kRun, seconds(15)), seconds(15));
  for (int call = 0; call < 5; ++call) budget.end_call(Op::kRun, seconds(8));
  EXPECT_EQ(budget.limit_for(Op::kRun, seconds(15)), seconds(5));
  EXPECT_EQ(budget.limit_for(Op::kAttach, seconds(60)), seconds(60));
  budget.end_call(Op::kRun, seconds(8));
  EXPECT_EQ(budget.limit_for(Op::kRun, seconds(15)), seconds(0)) << "never below nothing";
}

TEST(CaseBudget, KeepsRoomForTheCallsThatMustCome) {
  CaseBudget budget(seconds(90));
  budget.end_call(Op::kPlan, seconds(10));
  budget.end_call(Op::kRun, milliseconds(3900));
  budget.end_call(Op::kRun, milliseconds(2000));  // the longest of a kind counts
  EXPECT_TRUE(budget.has_room_for({1, 4, 1}));
  for (int pair = 0; pair < 13; ++pair) budget.end_call(Op::kRun, milliseconds(3900));
  EXPECT_FALSE(budget.has_room_for({1, 4, 1}));  // 23.4 s are left, 10 + 4 * 3.9 = 25.6 s are needed
  EXPECT_TRUE(budget.has_room_for({1, 3, 1}));
  EXPECT_TRUE(budget.has_room_for({0, 0, 9}));  // a free has cost nothing yet
}

TEST(CaseBudget, TellsTimeUsedAndLimitAndLoad) {
  CaseBudget budget(seconds(60));
  budget.begin_call();
  budget.look();
  budget.end_call(Op::kRun, milliseconds(31'000));
  const std::string text = budget.text();
  EXPECT_TRUE(text.starts_with("the case's calls took 31 s of 60 s; load ")) << text;
  EXPECT_NE(text.find(" core"), std::string::npos) << text;
  EXPECT_EQ(budget.to_json()["total_s"], 31.0);
  EXPECT_EQ(budget.to_json()["limit_s"], 60.0);
}

}  // namespace
}  // namespace warpgrade
