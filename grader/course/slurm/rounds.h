// A run on a cluster, in rounds: arrays that compile and judge what is missing, then an aggregator that looks
// at the records, asks Slurm what became of the tasks, and submits the next round or scores. Every step may
// be interrupted and repeated.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "course/record/events.h"
#include "course/record/run_folder.h"
#include "course/slurm/cluster.h"
#include "course/slurm/remaining.h"

namespace warpgrade {

// Where a task's work stands in the round's plan.
struct TaskPlace {
  std::string kind;
  std::vector<std::string> submissions;
  std::string log;
};

struct RoundReport {
  int round = 0;  // 0: there is none
  bool done = false, cancelled = false;
  std::string logs;  // the folder
  std::vector<ReportedTask> tasks;
  std::optional<Remaining> remaining;  // none: nothing is left of the round, or nobody knows
  std::string problem;                 // the controller does not answer, nobody is left to look at the tasks
};

class Rounds {
 public:
  // `same_node`: the rounds that begin now judge there alone; empty: anywhere.
  Rounds(const RunFolder& folder, Site site, EventLog& events, std::string same_node = "");

  // What the user's call does: goes on with the round that is there, or begins one. Returns what to tell.
  std::string advance();
  // What the aggregator does when the round's tasks have ended. `expected`: it is the aggregator itself, not
  // somebody who found it gone.
  std::string aggregate(int round, bool expected);
  std::string cancel();

  int latest() const;  // 0: none
  bool done(int round) const;
  RoundPlan plan_of(int round) const;
  // Submissions of which a case has no verdict.
  std::vector<std::string> missing() const;
  // Jobs of the round that wait or run.
  std::vector<std::string> live_jobs(int round);
  // What the next round would be: its scripts, commands, counts, memory, hours, and what Slurm says to them.
  std::string rehearse();
  // The round's tasks, waiting, running and ended ones.
  RoundReport report(int round);
  // Whether the round judges on that node although its tests leave it out: Slurm has no other, or the
  // staff named it.
  bool admits(int round, const std::string& node) const;
  // The waiting tasks of a task's array start on no node that is known to be bad, where Slurm has others.
  void keep_array_off_bad_nodes(int round, const OwnTask& own);
  std::string logs_of(int round) const { return (folder_of(round) / "log").string(); }

 private:
  std::filesystem::path folder_of(int round) const;
  // A file of the run that holds a JSON object; throws UsageError where it is damaged.
  static nlohmann::json read_object(const std::filesystem::path& file);
  nlohmann::json plan_file(int round) const;
  std::string name_of(int round, const std::string& what) const;
  std::string name_beginning() const;
  std::vector<std::string> names_of(int round) const;
  nlohmann::json plan(int round, int chain_begin);
  nlohmann::json make_plan(int round, int chain_begin);
  SiteTask task_of(const char* kind, const nlohmann::json& planned);
  SiteTask aggregate_task() const;  // of the guard as well
  int memory_times(int round, const nlohmann::json& planned);
  std::string submit(int round);
  nlohmann::json submit_all(int round, const nlohmann::json& planned, std::vector<std::string>& submitted);
  std::string entered_text(int round, const std::vector<std::string>& jobs) const;
  [[noreturn]] void withdraw(const std::vector<std::string>& submitted, const UsageError& why);
  std::string script_text(const char* kind) const;
  std::vector<std::string> array_options(const SiteTask& task, int round, const char* kind,
                                         const ArrayPart& part) const;
  std::vector<std::string> task_options(const SiteTask& task, int round, const std::string& output) const;
  std::vector<std::string> script_words(int round, const char* kind, std::size_t offset) const;
  void make_logs(int round, const char* kind, const ArrayPart& part) const;
  void submit_arrays(int round, const char* kind, const nlohmann::json& planned,
                     const std::vector<std::string>& after, std::vector<std::string>& submitted,
                     nlohmann::json& ids);
  std::vector<std::string> bad_nodes() const;
  void choose_nodes(nlohmann::json& planned);
  bool can_do_without(const nlohmann::json& planned);
  int more_rounds(int round) const;
  void log_left_out_nodes(int round);
  void judge_again_elsewhere(int round);
  std::string pinned_node(int round, int chain_begin);
  std::map<std::string, TaskPlace> places(int round) const;
  nlohmann::json facts_of_lost(const std::string& task, const TaskState& state, int round) const;
  double seconds_a_submission() const;
  void log_lost_tasks(int round);
  void log_unended_tasks(int round);
  void note_device() const;
  std::string finish(int round, const std::vector<std::string>& left);

  RunFolder folder_;
  Site site_;
  EventLog& events_;
  std::string same_node_;
  Cluster cluster_;
};

// Only one process at a time plans or submits for a run.
class RunLock {
 public:
  explicit RunLock(const RunFolder& folder);

 private:
  FileDescriptor file_;
};

}  // namespace warpgrade
