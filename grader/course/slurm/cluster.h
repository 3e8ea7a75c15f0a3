// What is asked of Slurm, through its commands. A controller that does not answer is asked again for a while.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "course/slurm/plan.h"
#include "course/slurm/site.h"

namespace warpgrade {

struct TaskState {
  std::string state;  // COMPLETED, RUNNING, NODE_FAIL, ...
  std::string node, exit_code;
  int restarts = 0;
};

class Cluster {
 public:
  // `silent` is told once when the controller does not answer.
  Cluster(const Site& site, std::function<void(const std::string&)> silent);

  // MaxArraySize, and the least of what the cluster, the accounts and the QOS let a user submit.
  ClusterLimits limits();

  // Submits unless a job of that name is known already; its id. The name is the run's own.
  std::string submit(const std::string& name, const std::vector<std::string>& options,
                     const std::vector<std::string>& script_and_arguments);

  // Ids of jobs of this name that Slurm still knows, or only of those that wait or run.
  std::vector<std::string> jobs(const std::string& name, bool live_only);

  // The waiting and running tasks of this user's jobs whose names begin so, an entry each: $SLURM_JOB_ID. The
  // waiting tasks of an array have one number in common.
  std::vector<std::string> tasks(const std::string& beginning);

  // "12_3" or "12" -> the last state of it, and every earlier one that ended badly ("12_3#1"). From sacct
  // where the cluster has accounting, else from scontrol; what Slurm has forgotten is absent.
  std::map<std::string, TaskState> states(const std::vector<std::string>& jobs);

  void cancel(const std::vector<std::string>& jobs);

 private:
  std::string ask(const std::vector<std::string>& command, bool may_fail = false);
  std::map<std::string, TaskState> from_sacct(const std::vector<std::string>& jobs);
  std::map<std::string, TaskState> from_scontrol(const std::vector<std::string>& jobs);

  int patience_s_;
  std::set<std::string> accounts_, qos_;
  std::function<void(const std::string&)> silent_;
  std::optional<ClusterLimits> limits_;
};

// Parsers of the commands' answers.
std::map<std::string, TaskState> parse_sacct(const std::string& text);  // -nPXD, fields as cluster.cpp asks
std::map<std::string, TaskState> parse_scontrol(const std::string& text);  // show job -o
ClusterLimits parse_config(const std::string& text);                       // show config
// sacctmgr -nP, fields that are numbers of jobs or empty.
void lower_to_submit_limits(ClusterLimits& limits, const std::string& text);

}  // namespace warpgrade
