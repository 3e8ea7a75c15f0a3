// Planning of arrays, and what Slurm's commands answer.
#include <gtest/gtest.h>

#include <ctime>
#include <numeric>

#include "base/error.h"
#include "course/slurm/cluster.h"
#include "course/slurm/plan.h"

namespace warpgrade {
namespace {

std::vector<std::string> ids(size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back("student-" + std::to_string(i));
  return names;
}

size_t submissions_in(const std::vector<std::vector<std::string>>& tasks) {
  return std::accumulate(tasks.begin(), tasks.end(), size_t{0},
                         [](size_t sum, const auto& task) { return sum + task.size(); });
}

TEST(SlurmPlan, TwoThousandTasksAreSplitUnderTheArrayLimitInNoTime) {
  ClusterLimits limits;
  limits.max_array = 300;
  Site site;
  site.task_minutes = 1;
  const std::clock_t start = std::clock();  // of this process: a busy machine is not the plan's fault
  const RoundPlan plan = RoundPlan::from_json(plan_round(ids(2000), ids(2000), 60, site, limits).to_json());
  EXPECT_LT(std::clock() - start, 5 * CLOCKS_PER_SEC);
  EXPECT_EQ(plan.judge.size(), 2000u);
  ASSERT_EQ(plan.judge_arrays.size(), 7u);
  size_t next = 0;
  for (const ArrayPart& part : plan.judge_arrays) {
    EXPECT_EQ(part.offset, next);
    EXPECT_LE(part.count, limits.max_array);
    next += part.count;
  }
  EXPECT_EQ(next, 2000u);
  EXPECT_EQ(submissions_in(plan.compile), 2000u);
}

TEST(SlurmPlan, ShortSubmissionsShareATask) {
  Site site;
  site.task_minutes = 10;
  const RoundPlan plan = plan_round({}, ids(45), 60, site, {});
  ASSERT_EQ(plan.judge.size(), 5u);
  EXPECT_EQ(plan.judge[0].size(), 10u);
  EXPECT_EQ(plan.judge[4].size(), 5u);
  EXPECT_TRUE(plan.compile_arrays.empty());
}

TEST(SlurmPlan, ASubmitLimitPacksTasksFuller) {
  ClusterLimits limits;
  limits.max_submit = 24;  // ten compile tasks, ten judge tasks, four others
  const RoundPlan plan = plan_round(ids(200), ids(200), 3600, Site(), limits);
  EXPECT_LE(plan.judge.size() + plan.compile.size() + 4, limits.max_submit);
  EXPECT_EQ(submissions_in(plan.judge), 200u);
  limits.max_submit = 3;
  EXPECT_THROW(plan_round(ids(1), ids(1), 1, Site(), limits), UsageError);
}

TEST(SlurmAnswers, LimitsAreReadFromTheConfiguration) {
  const ClusterLimits limits = parse_config(
      "AccountingStorageType   = accounting_storage/slurmdbd\nMaxArraySize            = 501\n"
      "MaxJobCount             = 10000\n");
  EXPECT_EQ(limits.max_array, 500u);
  EXPECT_EQ(limits.max_submit, 10000u);
  EXPECT_TRUE(limits.accounting);
}

TEST(SlurmAnswers, TheLeastSubmitLimitCounts) {
  ClusterLimits limits;
  limits.max_submit = 10000;
  lower_to_submit_limits(limits, "|\n500|\n|80\n");
  EXPECT_EQ(limits.max_submit, 80u);
  lower_to_submit_limits(limits, "");
  EXPECT_EQ(limits.max_submit, 80u);
}

TEST(SlurmAnswers, SacctShowsEarlierLivesOfATask) {
  const auto states = parse_sacct(
      "12_0|COMPLETED|0:0|n1\n12_1|NODE_FAIL|0:0|n2\n12_1|COMPLETED|0:0|n3\n12_2|CANCELLED by 0|0:15|n1\n");
  EXPECT_EQ(states.at("12_0").restarts, 0);
  EXPECT_EQ(states.at("12_1").state, "COMPLETED");
  EXPECT_EQ(states.at("12_1").restarts, 1);
  EXPECT_EQ(states.at("12_1#1").state, "NODE_FAIL");
  EXPECT_EQ(states.at("12_1#1").node, "n2");
  EXPECT_EQ(states.at("12_2").state, "CANCELLED");
}

TEST(SlurmAnswers, ScontrolTellsTasksOfAnArrayApart) {
  const auto states = parse_scontrol(
      "JobId=8 ArrayJobId=2 ArrayTaskId=1 JobName=wg JobState=RUNNING Restarts=1 ExitCode=0:0 NodeList=n2\n"
      "JobId=9 JobName=wg JobState=PENDING Restarts=0 ExitCode=0:0 NodeList=\n");
  EXPECT_EQ(states.at("2_1").restarts, 1);
  EXPECT_EQ(states.at("2_1").node, "n2");
  EXPECT_EQ(states.at("9").state, "PENDING");
}

}  // namespace
}  // namespace warpgrade
