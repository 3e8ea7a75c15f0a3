// What a judge process keeps from case to case and from submission to submission, so that a case costs little
// more than its runs: baselines that stay up, private copies of datasets, the next case's runner brought up
// early, processes that end in the background, and the lease of the GPU.
#pragma once

#include <chrono>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "judge/judging/gpu_lease.h"
#include "judge/judging/kept_data.h"
#include "judge/judging/placement_noise.h"
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
  // Brings up `count` for whoever borrows first. Throws JudgeFault when one cannot be started.
  void keep_ready(const RunnerSpec& spec, int count);
  // Takes it back when it still lives; plan and buffers are dropped in the background.
  void give_back(const RunnerSpec& spec, std::unique_ptr<RunnerProcess> runner);

  // The submission's process for a case: the first of those on their way, or a new one.
  std::unique_ptr<RunnerProcess> start(const RunnerSpec& spec);
  // Sends processes on their way until there are `count`: each costs 0.3 s or more until its context
  // answers, in which this judge has other things to do. Only while the GPU is shared: a context that
  // comes up disturbs. Where an executor goes from case to case, one at most: the next case's program
  // takes its place there.
  void prepare(const RunnerSpec& spec, int count);
  // Sends executors on their way until `count` wait for their program, as many of this submission's as it
  // keeps for its further processes counted in; none where executors do not wait.
  void prepare_executors(const RunnerSpec& spec, int count);
  // Those that this submission keeps for its further processes.
  int kept_partners() const { return static_cast<int>(partners_.size()); }

  // Another process of the submission, for timing beside the first. Its executor is one that has served this
  // submission before, one that waits, or a new one.
  std::unique_ptr<RunnerProcess> start_partner(const RunnerSpec& spec);
  // Its executor is kept for the submission's next case, if there is one.
  void retire_partner(const RunnerSpec& spec, std::unique_ptr<RunnerProcess> runner, bool next);
  // Whether the device has room for processes that only wait: contexts are up to half a GiB each. Asked of
  // the driver at most once a second.
  bool has_room();
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
  std::unique_ptr<RunnerProcess> begin(const RunnerSpec& spec);
  std::unique_ptr<RunnerProcess> make(const RunnerSpec& spec);
  std::unique_ptr<ExecutorProcess> take_spare(const RunnerSpec& spec);
  void take_returned();
  void settle_spares();
  template <typename Process>
  void end_later(std::unique_ptr<Process> process);

  GpuLease lease_;
  KeptData kept_data_;
  std::map<std::string, std::vector<std::unique_ptr<RunnerProcess>>> idle_;  // by executable
  struct Returning {
    std::string executable;
    std::future<std::unique_ptr<RunnerProcess>> runner;
  };
  std::vector<Returning> returning_;
  struct Prepared {
    std::unique_ptr<RunnerProcess> runner;
    bool up = false;
  };
  std::deque<Prepared> prepared_;
  int working_ = 0;  // submissions' programs that hold an executor
  struct Spare {
    std::unique_ptr<ExecutorProcess> executor;
    bool up = false;
  };
  std::deque<Spare> spares_;                                // have served nobody yet
  std::vector<std::unique_ptr<ExecutorProcess>> partners_;  // have served the submission at hand
  bool lost_executor_ = false;
  std::set<std::string> planned_;
  std::vector<std::future<void>> ending_;
  std::chrono::steady_clock::time_point room_asked_{};
  bool room_ = false;
  PlacementNoise placement_;
  std::mt19937 random_{std::random_device{}()};
};

}  // namespace warpgrade
