#include "judge/sandbox/memory_above.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "judge/sandbox/cgroup_files.h"
#include "judge/sandbox/cgroup_place.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

// Version 1 says "no limit" with the largest number of pages that there is.
constexpr std::size_t kNoLimit = std::size_t{1} << 60;

std::size_t limit_of(const MemoryGroup& group) {
  const std::string text =
      cgroup_text(group.folder / (group.version == 2 ? "memory.max" : "memory.limit_in_bytes"));
  std::size_t bytes = 0;
  std::from_chars(text.data(), text.data() + text.size(), bytes);  // "max" is none
  return bytes >= kNoLimit ? 0 : bytes;
}

}  // namespace

std::vector<MemoryGroup> memory_groups() {
  std::vector<MemoryGroup> groups;
  const auto own = own_cgroups(cgroup_text("/proc/self/mountinfo"), cgroup_text("/proc/self/cgroup"));
  for (const CgroupHierarchy& hierarchy : own) {
    if (hierarchy.version == 1 && !hierarchy.controllers.contains("memory")) continue;
    for (fs::path folder = hierarchy.base; fs::exists(folder / "cgroup.procs"); folder = folder.parent_path())
      groups.push_back({hierarchy.version, folder});
  }
  return groups;
}

std::size_t least_memory_limit(const std::vector<MemoryGroup>& groups) {
  std::size_t least = 0;
  for (const MemoryGroup& group : groups) {
    const std::size_t limit = limit_of(group);
    if (limit != 0) least = least == 0 ? limit : std::min(least, limit);
  }
  return least;
}

std::size_t count_memory_kills(const std::vector<MemoryGroup>& groups) {
  std::size_t kills = 0;
  for (const MemoryGroup& group : groups) {
    if (group.version == 1) {
      kills += cgroup_number(cgroup_text(group.folder / "memory.oom_control"), "oom_kill");
      continue;
    }
    // "oom": this group's own limit was met, wherever below it the process was; "oom_kill": its own process.
    const std::string local = cgroup_text(group.folder / "memory.events.local");
    kills += cgroup_number(local, "oom") + cgroup_number(local, "oom_kill");
  }
  return kills;
}

std::size_t memory_limit_above() {
  return least_memory_limit(memory_groups());
}

std::size_t memory_kills_above() {
  return count_memory_kills(memory_groups());
}

std::string memory_limit_words() {
  const std::size_t limit = memory_limit_above();
  return limit == 0 ? "" : fmt::format(", which may have {} MiB", limit >> 20);
}

}  // namespace warpgrade
