// The memory that this process may have together with others: the limits of the control groups around it, of
// a Slurm task, a container, a service. Who meets one of these is short of memory through no fault of a
// submission's, whose own limits are in a group below (cgroup.h).
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace warpgrade {

struct MemoryGroup {
  int version = 2;
  std::filesystem::path folder;
};

// This process's group and all groups around it that can be seen from here, the inner ones first.
std::vector<MemoryGroup> memory_groups();

// The least limit of these groups, in bytes; 0: there is none.
std::size_t least_memory_limit(const std::vector<MemoryGroup>& groups);

// Grows when the kernel ends a process because one of these groups, or the machine, has no memory left.
// (Version 1 counts at the group of the process that was ended: those of groups below count there alone.)
std::size_t count_memory_kills(const std::vector<MemoryGroup>& groups);

// Of this process.
std::size_t memory_limit_above();
std::size_t memory_kills_above();

// ", which may have 800 MiB"; empty where there is no limit.
std::string memory_limit_words();

}  // namespace warpgrade
