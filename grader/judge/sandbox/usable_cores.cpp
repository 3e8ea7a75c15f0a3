#include "judge/sandbox/usable_cores.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "judge/sandbox/cgroup_files.h"
#include "judge/sandbox/cgroup_place.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr double kOwnWork = 0.5;  // beyond the cores: a judge that looks overlaps with what it looks at

std::vector<int> allowed_cores() {
  std::vector<int> numbers;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &allowed)) numbers.push_back(core);
    }
  }
  if (!numbers.empty()) return numbers;
  // A machine with more cores than the set has room for.
  numbers.resize(std::max(1U, std::thread::hardware_concurrency()));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// "200000 100000" or "max 100000"; version 1 has the two numbers in a file each, the first -1 without
// a limit.
std::optional<double> quota_in(const fs::path& group) {
  std::vector<std::string> words = cgroup_words(cgroup_text(group / "cpu.max"));
  if (words.empty()) {
    words = cgroup_words(cgroup_text(group / "cpu.cfs_quota_us"));
    for (const std::string& word : cgroup_words(cgroup_text(group / "cpu.cfs_period_us")))
      words.push_back(word);
  }
  if (words.size() < 2) return std::nullopt;
  const double quota = std::atof(words[0].c_str()), period = std::atof(words[1].c_str());
  return quota > 0 && period > 0 ? std::optional(quota / period) : std::nullopt;
}

std::optional<double> own_quota() {
  static const std::optional<double> quota = [] {
    std::optional<double> least;
    const auto own = own_cgroups(cgroup_text("/proc/self/mountinfo"), cgroup_text("/proc/self/cgroup"));
    for (const CgroupHierarchy& hierarchy : own) {
      const auto given = cpu_quota(hierarchy.base);
      if (given) least = std::min(*given, least.value_or(*given));
    }
    return least;
  }();
  return quota;
}

}  // namespace

std::optional<double> cpu_quota(const fs::path& group) {
  std::optional<double> least;
  for (fs::path folder = group; fs::exists(folder / "cgroup.procs"); folder = folder.parent_path()) {
    const auto quota = quota_in(folder);
    if (quota) least = std::min(*quota, least.value_or(*quota));
  }
  return least;
}

std::vector<int> usable_core_numbers() {
  std::vector<int> cores = allowed_cores();
  const auto quota = own_quota();
  if (quota)
    cores.resize(std::clamp(static_cast<std::size_t>(std::ceil(*quota)), std::size_t{1}, cores.size()));
  return cores;
}

int usable_cores() {
  return static_cast<int>(usable_core_numbers().size());
}

bool is_busy(double load) {
  const auto quota = own_quota();
  return load > usable_cores() + kOwnWork || (quota && *quota < static_cast<double>(allowed_cores().size()));
}

std::string load_text(double load) {
  const int cores = usable_cores();
  return fmt::format("load {:.1f} on {} core{}{}", load, cores, cores == 1 ? "" : "s",
                     is_busy(load) ? ": the machine was busy; if this was the reason, ask the staff" : "");
}

}  // namespace warpgrade
