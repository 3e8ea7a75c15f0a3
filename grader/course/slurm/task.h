// One task of a round, as Slurm starts it: `warpgrade batch-task KIND RUN ROUND OFFSET`.
#pragma once

#include <filesystem>
#include <string>

namespace warpgrade {

struct TaskRequest {
  std::string kind;  // compile, judge, aggregate, guard
  std::filesystem::path run;
  int round = 0, offset = 0;
};

inline constexpr int kExitTryAgain = 75;  // EX_TEMPFAIL: the machine's fault, not the work's

int run_batch_task(const TaskRequest& request);

}  // namespace warpgrade
