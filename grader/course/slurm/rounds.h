// A run on a cluster, in rounds: arrays that compile and judge what is missing, then an aggregator that looks
// at the records, asks Slurm what became of the tasks, and submits the next round or scores. Every step may
// be interrupted and repeated.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "course/record/events.h"
#include "course/record/run_folder.h"
#include "course/slurm/cluster.h"

namespace warpgrade {

class Rounds {
 public:
  Rounds(const RunFolder& folder, Site site, EventLog& events);

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
  // Tasks by state, of the latest round.
  std::map<std::string, int> states(int round);

 private:
  std::filesystem::path folder_of(int round) const;
  std::string name_of(int round, const std::string& what) const;
  nlohmann::json plan(int round, int chain_begin);
  std::string submit(int round);
  std::vector<std::string> array_options(const SiteTask& task, int round, const char* kind,
                                         const ArrayPart& part) const;
  std::vector<std::string> task_options(const SiteTask& task, int round, const std::string& output) const;
  std::vector<std::string> submit_arrays(int round, const char* kind, const std::vector<ArrayPart>& parts,
                                         const SiteTask& task, const std::vector<std::string>& after);
  std::vector<std::string> bad_nodes() const;
  double seconds_a_submission() const;
  void log_lost_tasks(int round);
  void log_unended_tasks(int round);
  void note_device() const;
  std::string finish(int round, const std::vector<std::string>& left);

  RunFolder folder_;
  Site site_;
  EventLog& events_;
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
