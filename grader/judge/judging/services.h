// What a judge process keeps from case to case and from submission to submission, so that a case costs little
// more than its runs: baselines that stay up, private copies of datasets, the next case's runner brought up
// early, processes that end in the background, and the lease of the GPU.
#pragma once

#include <deque>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "judge/judging/gpu_lease.h"
#include "judge/judging/kept_data.h"
#include "judge/judging/runner_process.h"

namespace warpgrade {

class JudgeServices {
 public:
  explicit JudgeServices(GpuLease lease) : lease_(std::move(lease)) {}
  ~JudgeServices() { settle(); }
  JudgeServices(const JudgeServices&) = delete;
  JudgeServices& operator=(const JudgeServices&) = delete;

  GpuLease& lease() { return lease_; }
  // The judge's own copies of datasets; never memory that a submission's programs can reach.
  KeptData& kept_data() { return kept_data_; }

  // A baseline's runner without buffers: one that has been used before, or a new one. Trusted code only.
  std::unique_ptr<RunnerProcess> borrow(const RunnerSpec& spec);
  // Brings one up for whoever borrows first. Throws JudgeFault when it cannot be started.
  void keep_ready(const RunnerSpec& spec);
  // Takes it back when it still lives; drops plan and buffers.
  void give_back(const RunnerSpec& spec, std::unique_ptr<RunnerProcess> runner);

  // The submission's process for a case: the first of those on their way, or a new one.
  std::unique_ptr<RunnerProcess> start(const RunnerSpec& spec);
  // Sends processes on their way until there are `count`: each costs 0.3 s or more until its context
  // answers, in which this judge has other things to do. Only while the GPU is shared: a context that
  // comes up disturbs. Where an executor goes from case to case, one at most: the next case's program
  // takes its place there.
  void prepare(const RunnerSpec& spec, int count);
  // Sends an executor on its way, for the submission that comes next; nothing where there is one, or where
  // executors do not wait for their program.
  void prepare_executor(const RunnerSpec& spec);
  // Whether the executor of this submission's last case could not go on to the next one.
  bool lost_executor() const { return lost_executor_; }
  void forget_prepared();  // before another submission

  // Whether the borrowed baselines have planned this case before, from now on true: the first time they may
  // try out algorithms, which needs the GPU alone.
  bool planned_before(const std::string& case_id) { return !planned_.insert(case_id).second; }

  // A case is over. Where there is a `next` case of the same submission, the program of that one takes the
  // place in its executor; else it ends.
  void retire(const RunnerSpec& spec, std::unique_ptr<RunnerProcess> runner, bool next);
  // Ends the process without waiting for it.
  void reap_later(std::unique_ptr<RunnerProcess> runner);

  // Waits until nothing of this judge is at work on the GPU: processes have ended, those prepared are up
  // and stopped.
  void settle();

 private:
  std::unique_ptr<RunnerProcess> make(const RunnerSpec& spec);

  GpuLease lease_;
  KeptData kept_data_;
  std::map<std::string, std::vector<std::unique_ptr<RunnerProcess>>> idle_;  // by executable
  struct Prepared {
    std::unique_ptr<RunnerProcess> runner;
    bool up = false;
  };
  std::deque<Prepared> prepared_;
  int working_ = 0;                         // submissions' programs that hold an executor
  std::unique_ptr<ExecutorProcess> spare_;  // has served nobody yet
  bool spare_is_up_ = false;
  bool lost_executor_ = false;
  std::set<std::string> planned_;
  std::vector<std::future<void>> ending_;
};

}  // namespace warpgrade
