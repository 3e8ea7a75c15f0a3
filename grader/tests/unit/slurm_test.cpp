// Planning of arrays, and what Slurm's commands answer.
#include <gtest/gtest.h>

#include <ctime>
#include <numeric>

#include "base/error.h"
#include "course/slurm/cluster.h"
#include "course/slurm/need.h"
#include "course/slurm/plan.h"
#include "course/slurm/reasons.h"
#include "course/slurm/refusal.h"
#include "course/slurm/remaining.h"
#include "course/slurm/units.h"

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

// As squeue(1) writes them with --array and -o "%F|%K|%j|%T|%N|%S|%r" (Slurm 22.05).
TEST(SlurmAnswers, TheQueueShowsEachTaskWithItsReason) {
  const auto tasks = parse_queue(
      "7|0|wg-week7-judge|RUNNING|n1|2026-03-18T23:59:00|None\n7|1|wg-week7-judge|PENDING||N/"
      "A|PartitionDown\n"
      "9|N/A|wg-week7-aggregate|PENDING||N/A|Dependency\n");
  ASSERT_EQ(tasks.size(), 3u);
  EXPECT_EQ(tasks[0].task, "7_0");
  EXPECT_EQ(tasks[0].node, "n1");
  EXPECT_EQ(tasks[1].reason, "PartitionDown");
  EXPECT_EQ(tasks[1].starts, "");
  EXPECT_EQ(tasks[2].task, "9");
}

TEST(SlurmRemaining, FollowsWhatEndedTasksTookAndWhatRunsNow) {
  const auto task = [](const char* state, int submissions, double elapsed_s, const char* kind = "judge") {
    return ReportedTask{"7_0", kind, state, "n1", "", "", "", ids(submissions), elapsed_s};
  };
  EXPECT_FALSE(remaining_of({}, 60));
  EXPECT_FALSE(remaining_of({task("COMPLETED", 4, 100), task("PENDING", 4, 0, "compile")}, 60));
  // Nothing has ended: two submissions of a minute each wait.
  const auto guessed = remaining_of({task("PENDING", 2, 0)}, 60);
  ASSERT_TRUE(guessed);
  EXPECT_EQ(guessed->s, 120);
  EXPECT_EQ(guessed->at_once, 0);
  // 25 s a submission: of 100 s and 100 s, which run, 60 s and 90 s are left, and 100 s wait.
  const auto measured = remaining_of({task("COMPLETED", 4, 100), task("RUNNING", 4, 40),
                                      task("RUNNING", 4, 10), task("PENDING", 4, 0), task("TIMEOUT", 4, 999)},
                                     60);
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->s, 125);
  EXPECT_EQ(measured->at_once, 2);
  // One that takes longer than was thought does not make it less.
  EXPECT_EQ(remaining_of({task("RUNNING", 1, 500), task("PENDING", 1, 0)}, 60)->s, 60);
}

// squeue(1) %M, sacct(1) ElapsedRaw, scontrol(1) RunTime.
TEST(SlurmStates, TellHowLongATaskHasRun) {
  EXPECT_EQ(parse_queue("8|2|wg|RUNNING|n1|2026-11-27T09:00:00|None|1-02:03:04\n").at(0).elapsed_s, 93784);
  EXPECT_EQ(parse_queue("8|2|wg|RUNNING|n1|2026-11-27T09:00:00|None|1:05\n").at(0).elapsed_s, 65);
  EXPECT_EQ(parse_queue("8|2|wg|PENDING||N/A|Priority|INVALID\n").at(0).elapsed_s, 0);
  EXPECT_EQ(parse_sacct("8_2|COMPLETED|0:0|n1|65\n").at("8_2").elapsed_s, 65);
  EXPECT_EQ(parse_scontrol("JobId=8 JobState=COMPLETED Restarts=0 ExitCode=0:0 RunTime=00:01:05\n")
                .at("8")
                .elapsed_s,
            65);
}

// sacct(1) and scontrol(1) write what waits of an array as one record.
TEST(SlurmAnswers, WaitingTasksOfAnArrayCountEach) {
  const auto told = parse_sacct("12_0|RUNNING|0:0|n1\n12_[1-3,7%2]|PENDING|0:0|None assigned\n");
  EXPECT_EQ(told.size(), 5u);
  EXPECT_EQ(told.at("12_3").state, "PENDING");
  EXPECT_EQ(told.at("12_7").state, "PENDING");
  const auto shown =
      parse_scontrol("JobId=8 ArrayJobId=8 ArrayTaskId=4-6%1 JobState=PENDING Restarts=0 ExitCode=0:0\n");
  EXPECT_EQ(shown.size(), 3u);
  EXPECT_TRUE(shown.contains("8_6"));
}

// sinfo(1): %P, %D, %T; a line a state.
TEST(SlurmNodes, AreCountedByPartitionAndState) {
  const std::string told = "cpu|12|idle\ngpu*|1|down*\ngpu*|2|mixed\ngpu*|4|idle\n";
  EXPECT_EQ(parse_nodes(told, "gpu"), "7 nodes: 1 down*, 4 idle, 2 mixed");
  EXPECT_EQ(parse_nodes(told, ""), "7 nodes: 1 down*, 4 idle, 2 mixed") << "the default one";
  EXPECT_EQ(parse_nodes(told, "none"), "0 nodes");
}

// sbatch(1): --mem, --time. sinfo(1): %P, %l.
TEST(SlurmUnits, MemoryAndTimeAreReadAsSbatchReadsThem) {
  EXPECT_EQ(memory_mb("800M"), 800u);
  EXPECT_EQ(memory_mb("4G"), 4096u);
  EXPECT_EQ(memory_mb("512"), 512u);
  EXPECT_EQ(memory_mb("2048K"), 2u);
  EXPECT_EQ(memory_mb("1T"), 1u << 20);
  EXPECT_FALSE(memory_mb("much"));
  EXPECT_EQ(time_s("90"), 5400);
  EXPECT_EQ(time_s("90:30"), 5430);
  EXPECT_EQ(time_s("1:30:00"), 5400);
  EXPECT_EQ(time_s("1-12"), 129600);
  EXPECT_EQ(time_s("1-12:30"), 131400);
  EXPECT_EQ(time_s("UNLIMITED"), 0);
  EXPECT_FALSE(time_s("an hour"));
  EXPECT_EQ(parse_most_time("cpu|infinite\ngpu*|2-00:00:00\n", ""), 172800);
  EXPECT_EQ(parse_most_time("cpu|infinite\ngpu*|2-00:00:00\n", "cpu"), 0);
}

RoundWork usual_work() {
  RoundWork work;
  work.limits.run_s = {{"emulator", 60}, {"cuda", 30}};
  work.limits.case_s = {{"emulator", 180}, {"cuda", 90}};
  work.backend = "emulator";
  work.cases = 10;
  work.submissions = 4;
  return work;
}

TEST(SlurmNeed, TheEmulatedDeviceCountsOnTheEmulatorAlone) {
  RoundWork work = usual_work();
  EXPECT_EQ(need_of_judge(work).memory_mb, 4096u + 16384u + 2048u);
  work.backend = "cuda";
  EXPECT_EQ(need_of_judge(work).memory_mb, 4096u + 8192u);
}

TEST(SlurmNeed, TheSiteMaySayMoreAndNeverLess) {
  const Need need = need_of_judge(usual_work());
  SiteTask task;
  EXPECT_EQ(with_need(task, need, "judge", "site.yaml", 0, 1).memory, "22528M");
  task.memory = "64G";
  EXPECT_EQ(with_need(task, need, "judge", "site.yaml", 0, 1).memory, "64G");
  EXPECT_EQ(with_need(task, need, "judge", "site.yaml", 0, 2).memory, "131072M");
  task.memory = "0";  // all of a node
  EXPECT_EQ(with_need(task, need, "judge", "site.yaml", 0, 2).memory, "0");
  task.memory = "8G";
  EXPECT_THROW(with_need(task, need, "judge", "site.yaml", 0, 1), UsageError);
}

TEST(SlurmNeed, TheAggregatorsMemoryFollowsTheRecords) {
  EXPECT_EQ(need_of_aggregate(0).memory_mb, 512u);
  EXPECT_EQ(need_of_aggregate(26'000).memory_mb, 512u + 813u);
  EXPECT_EQ(need_of_aggregate(130'000).memory_mb, 512u + 4063u);
  const Need need = need_of_aggregate(26'000);
  SiteTask task;
  EXPECT_EQ(with_memory(task, need, "aggregate", "site.yaml").memory, "1325M");
  task.memory = "1G";
  try {
    with_memory(task, need, "aggregate", "site.yaml");
    FAIL() << "1 GiB was taken for a thousand students";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("26000 records"), std::string::npos) << error.what();
  }
}

TEST(SlurmNeed, TimeFollowsTheBudgetsUpToThePartitionsLimit) {
  const Need need = need_of_judge(usual_work());
  EXPECT_EQ(need.least_s, 120 + 120 + 180 + 120);
  EXPECT_EQ(need.usual_s, 120 + 4 * (120 + 10 * (180 + 120)));
  SiteTask task;
  EXPECT_EQ(with_need(task, need, "judge", "site.yaml", 0, 1).time, "210");
  EXPECT_EQ(with_need(task, need, "judge", "site.yaml", 7200, 1).time, "120");
  EXPECT_THROW(with_need(task, need, "judge", "site.yaml", 300, 1), UsageError);
  task.time = "5";
  EXPECT_THROW(with_need(task, need, "judge", "site.yaml", 0, 1), UsageError);
  task.time = "1:00:00";
  EXPECT_EQ(with_need(task, need, "judge", "site.yaml", 7200, 1).time, "1:00:00");
}

// The words are sbatch's of Slurm 22.05.
TEST(SlurmRefusal, NamesTheKeyThatSlurmRefuses) {
  SiteTask task;
  task.partition = "gpus";
  task.qos = "fast";
  const auto told = [&](const char* words) { return refusal_text(words, task, "judge", "site.yaml"); };
  EXPECT_EQ(
      told("sbatch: error: invalid partition specified: gpus\nsbatch: error: Batch job submission failed: "
           "Invalid partition name specified\n"),
      "site.yaml: judge: partition: gpus: Slurm refuses it: invalid partition specified: gpus; Invalid "
      "partition name specified");
  EXPECT_NE(told("sbatch: error: Batch job submission failed: Invalid qos specification\n")
                .find("judge: qos: fast:"),
            std::string::npos);
  EXPECT_NE(told("sbatch: error: something new\n").find("partition: gpus, qos: fast"), std::string::npos);
}

TEST(SlurmReasons, WhatPeopleCanCureIsSaid) {
  EXPECT_NE(cure_of("PartitionDown"), "");
  EXPECT_NE(cure_of("JobHeldUser"), "");
  EXPECT_NE(cure_of("QOSMaxJobsPerUserLimit"), "");
  EXPECT_EQ(cure_of("Priority"), "");
  EXPECT_EQ(cure_of("Resources"), "");
}

Site site_with(const nlohmann::json& settings) {
  return Site::from_json(settings);
}

// apptainer_exec(1): apptainer exec [exec options...] <container> <command>; --bind takes src[:dest[:opts]].
TEST(SlurmSite, ATaskInAContainerIsApptainersExecWithItsBinds) {
  const Site site = site_with(
      {{"judge", {{"container", {{"image", "/img/a b.sif"}, {"bind", {"/scratch", "/sets:/data:ro"}}}}}}});
  const std::string text = site.judge.script("batch-task \"$@\"", {"/runs/week 7"});
  EXPECT_NE(text.find("exec 'apptainer' 'exec' '--nv' '--bind' '/runs/week 7' '--bind' '/scratch' '--bind' "
                      "'/sets:/data:ro' "
                      "'/img/a b.sif' "),
            std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with(" batch-task \"$@\"\n")) << text;
  EXPECT_EQ(site.compile.script("x", {}).find("apptainer"), std::string::npos);
}

TEST(SlurmSite, AnImageOfAllTasksIsNotTheAggregators) {
  const Site site = site_with({{"all", {{"container", "/img.sif"}}}, {"judge", {{"cpus", 2}}}});
  EXPECT_EQ(site.judge.container.image, "/img.sif");
  EXPECT_EQ(site.compile.container.image, "/img.sif");
  EXPECT_EQ(site.aggregate.container.image, "");
  EXPECT_THROW(site_with({{"aggregate", {{"container", "/img.sif"}}}}), UsageError);
}

TEST(SlurmSite, ContainersThatCannotBeAreRefused) {
  const auto refused = [](const nlohmann::json& container) {
    EXPECT_THROW(site_with({{"judge", {{"container", container}}}}), UsageError) << container;
  };
  refused({{"bind", {"/scratch"}}});
  refused({{"image", "/img.sif"}, {"bind", {"/a,/b"}}});
  refused({{"image", "/img.sif"}, {"bind", {"scratch"}}});
  refused({{"image", "/img.sif"}, {"nv", "perhaps"}});
  refused({{"image", "/img.sif"}, {"rocm", "yes"}});
  refused({{"image", "--fakeroot"}});
  refused("--fakeroot");
  refused("");
  const Site site = site_with({{"judge", {{"container", "/img.sif"}}}});
  EXPECT_THROW(site.judge.script("x", {"/runs/a,b"}), UsageError);
}

// batch.json of an older version, and one of this.
TEST(SlurmSite, WhatWasKeptIsReadAgain) {
  const nlohmann::json old{
      {"judge", {{"gres", "gpu:1"}, {"options", {"--nice=5"}}, {"time", ""}, {"cpus", 2}}}};
  const Site site = Site::from_json(old);
  EXPECT_EQ(site.judge.cpus, 2);
  Site changed = site;
  changed.judge.gres = "";
  changed.judge.environment = {"none"};
  changed.judge.setup = {"module load cuda"};
  changed.judge.container = {"/shared/course.sif", {"/scratch", "/data:/sets:ro"}, "singularity", false};
  changed.file = "sites/ours.yaml";
  const Site again = Site::from_json(changed.to_json());
  EXPECT_EQ(again.to_json(), changed.to_json());
  EXPECT_EQ(again.judge.gres, "");
}

}  // namespace
}  // namespace warpgrade
