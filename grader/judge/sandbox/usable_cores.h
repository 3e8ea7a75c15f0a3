// How many cores this process may use.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace warpgrade {

// Those that it may run on (sched_getaffinity), and no more than its control groups allow at a time: a
// container with `--cpus=2` on a machine of 64 cores has two.
int usable_cores();
// Their numbers: two jobs that were given different cores of a machine have none in common.
std::vector<int> usable_core_numbers();

// The cores that a group and those above it are given, by cpu.max of version 2 or cpu.cfs_quota_us of
// version 1 in `group` and its parents; nothing: no limit.
std::optional<double> cpu_quota(const std::filesystem::path& group);

// Whether so many threads at a time (MeanLoad) may have kept a program waiting: there were more than cores.
// (A quota always may, and what it holds back does not show in the number. Nor is it told whether threads ran
// on cores that this process may not use.)
bool is_busy(double load);

// For a message about a limit of time: "load 1.2 on 2 cores", and on a busy machine what to do about it.
std::string load_text(double load);

}  // namespace warpgrade
