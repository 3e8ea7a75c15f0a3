// Why a task waits, in words that say what to do. The reasons are those of squeue(1), "JOB REASON CODES".
#pragma once

#include <string>

namespace warpgrade {

// "the partition is down: ask the cluster's staff"; empty: nothing is wrong, or the reason is not known here.
std::string cure_of(const std::string& reason);

}  // namespace warpgrade
