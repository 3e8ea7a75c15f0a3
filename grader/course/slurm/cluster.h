// What is asked of Slurm, through its commands: nothing else of the program calls one or reads its variables.
// A controller that does not answer is asked again for a while. README.md of course/batch says what another
// scheduler would have to answer here.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/process.h"
#include "course/slurm/plan.h"
#include "course/slurm/site.h"

namespace warpgrade {

struct TaskState {
  std::string state;  // COMPLETED, RUNNING, NODE_FAIL, ...
  std::string node, exit_code;
  int restarts = 0;
  double elapsed_s = 0;  // of its last life
};

// A task that waits or runs.
struct QueuedTask {
  std::string task, name, state, node, reason, starts;
  double elapsed_s = 0;
};

// The task that this process is in, by the variables that Slurm sets; words are empty where it is in none.
struct OwnTask {
  std::string node, job, array, index;
  int restarts = 0;

  static OwnTask find();
  std::string name() const { return array.empty() ? job : array + "_" + index; }  // as states() names it
};

// What a task asks about itself, once; false: it was not taken. Slurm ends the job that asks for its
// own restart.
bool ask_for_restart(const OwnTask& task);
// The array's waiting tasks: they start on none of these, in the place of what was said of nodes before.
bool keep_array_off(const OwnTask& task, const std::string& nodes);

// Whether a list of nodes as Slurm writes it, "n[1-3,9]", names this one. No controller is asked. Throws
// UsageError where Slurm cannot read the list.
bool names_node(const std::string& list, const std::string& node);

// What `sbatch --test-only` answered.
struct TestedJob {
  bool taken = false;
  std::string words;   // of a refusal
  std::string starts;  // "2026-03-18T23:59:00"
};

class Cluster {
 public:
  // `silent` is told once when the controller does not answer.
  Cluster(const Site& site, std::function<void(const std::string&)> silent);

  // MaxArraySize, and the least of what the cluster, the accounts and the QOS let a user submit.
  ClusterLimits limits();

  // Submits unless a job of that name is known already that was not cancelled; its id. The name is the run's
  // own. Throws SbatchRefusal.
  std::string submit(const std::string& name, const std::vector<std::string>& options,
                     const std::vector<std::string>& script_and_arguments);

  // Whether Slurm would take the job, and when it would start.
  TestedJob test(const std::vector<std::string>& options,
                 const std::vector<std::string>& script_and_arguments);

  // The longest that the partition lets a job run, in seconds; 0: it has no limit. "": the default one.
  double most_time_s(const std::string& partition);

  // "3 nodes: 1 down, 2 idle", of the partition (sinfo's states). "": the default one.
  std::string nodes_text(const std::string& partition);

  // Ids of jobs of this name that Slurm still knows, or only of those that wait or run.
  std::vector<std::string> jobs(const std::string& name, bool live_only);

  // The waiting and running tasks of this user's jobs whose names begin so, an entry each: $SLURM_JOB_ID. The
  // waiting tasks of an array have one number in common.
  std::vector<std::string> tasks(const std::string& beginning);

  // The waiting and running tasks of these jobs' names, each task of an array by itself.
  std::vector<QueuedTask> queue(const std::vector<std::string>& names);

  // "12_3" or "12" -> the last state of it, and every earlier one that ended badly ("12_3#1"). From sacct
  // where the cluster has accounting, else from scontrol; what Slurm has forgotten is absent.
  std::map<std::string, TaskState> states(const std::vector<std::string>& jobs);

  void cancel(const std::vector<std::string>& jobs);

 private:
  ProcessResult ask_patiently(const std::vector<std::string>& command);
  std::string ask(const std::vector<std::string>& command, bool may_fail = false);
  std::map<std::string, TaskState> from_sacct(const std::vector<std::string>& jobs);
  std::map<std::string, TaskState> from_scontrol(const std::vector<std::string>& jobs);

  int wait_s_;
  std::set<std::string> accounts_, qos_;
  std::function<void(const std::string&)> silent_;
  std::optional<ClusterLimits> limits_;
};

// Parsers of the commands' answers.
std::vector<QueuedTask> parse_queue(const std::string& text);  // squeue -h --array, -o as cluster.cpp asks
double parse_most_time(const std::string& text, const std::string& partition);   // sinfo -h -o "%P|%l"
std::string parse_nodes(const std::string& text, const std::string& partition);  // sinfo -h -o "%P|%D|%T"
std::string parse_test_only(
    const std::string& text);  // the time in "sbatch: Job 7 to start at TIME using ..."
// "12_[4-6,9%2]" or "12_3": each task by itself, "12_4", ... (squeue(1), sacct(1))
std::vector<std::string> each_task(const std::string& job, const std::string& tasks);
std::map<std::string, TaskState> parse_sacct(const std::string& text);  // -nPXD, fields as cluster.cpp asks
std::map<std::string, TaskState> parse_scontrol(const std::string& text);  // show job -o
ClusterLimits parse_config(const std::string& text);                       // show config
// sacctmgr -nP, fields that are numbers of jobs or empty.
void lower_to_submit_limits(ClusterLimits& limits, const std::string& text);

}  // namespace warpgrade
