#include "course/slurm/need.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "course/slurm/units.h"

namespace warpgrade {
namespace {

// The judge's buffers, its oracle and what it compares; on a GPU also the driver's part of some ten processes
// that have a context.
constexpr std::size_t kJudgeMb = 2048, kJudgeOnGpuMb = 8192;
// What judge/compile/compile_sandbox.cpp lets a compiler have, and the process that starts it.
constexpr std::size_t kCompilerMb = 8192, kCompileTaskMb = 512;
// Of the aggregator: its programs and libraries, and what each record adds while the largest pages are made.
constexpr std::size_t kAggregateMb = 512, kRecordKb = 32;
// Of a case, beside the submission's calls: inputs, oracle, checks, baselines.
constexpr double kCaseOwn_s = 120;
// A task's start, its datasets, and a reserve.
constexpr double kTaskOwn_s = 120;

void require_memory(const SiteTask& task, const Need& need, const std::string& kind,
                    const std::string& file) {
  const std::size_t given = *memory_mb(task.memory);  // site.cpp has checked the word
  if (given == 0 || given >= need.memory_mb) return;
  throw UsageError(
      "{}: {}: memory: {} is less than such a task needs: {}. Give at least {}M or leave `memory:` out{}",
      file, kind, task.memory, need.memory_sum, need.memory_mb,
      kind == "aggregate" ? "" : "; lower `limits` in the policy where submissions need less");
}

void require_time(const SiteTask& task, const Need& need, const std::string& kind, const std::string& file,
                  double most_s) {
  const double given = task.time.empty() ? 0 : *time_s(task.time);
  if (given > 0 && given < need.least_s)
    throw UsageError(
        "{}: {}: time: {} is less than such a task needs for one case: {}. Give at least {} (minutes) or "
        "leave `time:` out; lower `limits` in the policy where submissions need less",
        file, kind, task.time, need.time_sum, minutes_text(need.least_s));
  if (task.time.empty() && most_s > 0 && most_s < need.least_s)
    throw UsageError(
        "{}: {}: partition: {} lets a job run for {} minutes, and one case needs {}. Choose another "
        "partition, or lower `limits` in the policy",
        file, kind, task.partition.empty() ? "the default one" : task.partition, minutes_text(most_s),
        need.time_sum);
}

}  // namespace

Need need_of_judge(const RoundWork& work) {
  const bool on_gpu = work.backend == "cuda";
  const std::size_t device_mb = on_gpu ? 0 : work.limits.device_memory_mb;
  const std::size_t own_mb = on_gpu ? kJudgeOnGpuMb : kJudgeMb;
  const double case_s = work.limits.case_s.at(work.backend) + kCaseOwn_s;
  Need need;
  need.memory_mb = work.limits.host_memory_mb + device_mb + own_mb;
  need.memory_sum = fmt::format(
      "{} MiB of a submission's (limits.host_memory_mb){} + {} MiB of the judge's own = {} MiB, for one "
      "judge a task",
      work.limits.host_memory_mb,
      on_gpu ? "" : fmt::format(" + {} MiB of the emulated device (limits.device_memory_mb)", device_mb),
      own_mb, need.memory_mb);
  need.least_s = kTaskOwn_s + work.limits.compile_s + case_s;
  need.usual_s = kTaskOwn_s + static_cast<double>(work.submissions) *
                                  (work.limits.compile_s + static_cast<double>(work.cases) * case_s);
  need.time_sum = fmt::format(
      "{:g} s of the task's own + {:g} s to compile (limits.compile_s) + {:g} s of a case's calls "
      "(limits.case_s) + {:g} s of the judge's = {:g} s",
      kTaskOwn_s, work.limits.compile_s, case_s - kCaseOwn_s, kCaseOwn_s, need.least_s);
  return need;
}

Need need_of_compile(const RoundWork& work) {
  Need need;
  need.memory_mb = kCompilerMb + kCompileTaskMb;
  need.memory_sum = fmt::format("{} MiB that a compiler may have + {} MiB of the task's own = {} MiB",
                                kCompilerMb, kCompileTaskMb, need.memory_mb);
  need.least_s = kTaskOwn_s + work.limits.compile_s;
  need.usual_s = kTaskOwn_s + static_cast<double>(work.submissions) * work.limits.compile_s;
  need.time_sum = fmt::format("{:g} s of the task's own + {:g} s to compile (limits.compile_s) = {:g} s",
                              kTaskOwn_s, work.limits.compile_s, need.least_s);
  return need;
}

Need need_of_aggregate(std::size_t records) {
  constexpr std::size_t kKbOfMb = 1024;
  const std::size_t of_records = (records * kRecordKb + kKbOfMb - 1) / kKbOfMb;
  Need need;
  need.memory_mb = kAggregateMb + of_records;
  need.memory_sum = fmt::format("{} MiB for its programs + {} MiB for {} records ({} KiB each) = {} MiB",
                                kAggregateMb, of_records, records, kRecordKb, need.memory_mb);
  return need;
}

SiteTask with_memory(SiteTask task, const Need& need, const std::string& kind, const std::string& file) {
  if (!task.memory.empty())
    require_memory(task, need, kind, file);
  else
    task.memory = fmt::format("{}M", need.memory_mb);
  return task;
}

SiteTask with_need(SiteTask task, const Need& need, const std::string& kind, const std::string& file,
                   double most_s, int memory_times) {
  task = with_memory(std::move(task), need, kind, file);
  if (const std::size_t given = *memory_mb(task.memory); given > 0 && memory_times > 1)
    task.memory = fmt::format("{}M", given * static_cast<std::size_t>(memory_times));
  require_time(task, need, kind, file, most_s);
  if (task.time.empty()) task.time = minutes_text(most_s > 0 ? std::min(most_s, need.usual_s) : need.usual_s);
  return task;
}

}  // namespace warpgrade
