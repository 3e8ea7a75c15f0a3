// What a judge process keeps from case to case and from submission to submission, so that a case costs little
// more than its runs: baselines that stay up, the next case's runner brought up early, processes that end in
// the background, and the lease of the GPU.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "judge/gpu_lease.h"
#include "judge/runner_process.h"

namespace warpgrade {

class JudgeServices {
 public:
  explicit JudgeServices(GpuLease lease) : lease_(std::move(lease)) {}
  ~JudgeServices() { settle(); }
  JudgeServices(const JudgeServices&) = delete;
  JudgeServices& operator=(const JudgeServices&) = delete;

  GpuLease& lease() { return lease_; }

  // A baseline's runner without buffers: one that has been used before, or a new one. Trusted code only.
  std::unique_ptr<RunnerProcess> borrow(const RunnerSpec& spec);
  // Takes it back when it still lives; drops plan and buffers.
  void give_back(const RunnerSpec& spec, std::unique_ptr<RunnerProcess> runner);

  // The submission's process for a case, already on its way where `another_follows` said so before.
  std::unique_ptr<RunnerProcess> start(const RunnerSpec& spec, bool another_follows);
  void forget_prefetched();  // before another submission

  // Ends the process without waiting for it.
  void bury(std::unique_ptr<RunnerProcess> runner);

  // Waits until nothing of this judge is at work on the GPU: processes have ended, the prefetched one is up
  // and stopped.
  void settle();

 private:
  GpuLease lease_;
  std::map<std::string, std::vector<std::unique_ptr<RunnerProcess>>> idle_;  // by executable
  std::unique_ptr<RunnerProcess> next_;
  bool next_is_up_ = false;
  std::vector<std::future<void>> ending_;
};

}  // namespace warpgrade
