#include "support/host_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace warpgrade::emu {
namespace {

constexpr uint64_t kUnknown = std::numeric_limits<uint64_t>::max();

// The number after `name` in a file of "name number" lines.
uint64_t field(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, name.size(), name) == 0)
      return std::strtoull(line.c_str() + name.size(), nullptr, 10);
  }
  return 0;
}

std::optional<uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  uint64_t value = 0;
  if (!(file >> value)) return std::nullopt;  // "max" is no limit
  return value;
}

uint64_t left_of_machine() {
  const std::string info = "/proc/meminfo";
  const uint64_t kilobytes = field(info, "MemAvailable:");
  return kilobytes == 0 ? kUnknown : (kilobytes + field(info, "SwapFree:")) << 10;
}

// Pages of files count as used there, but give way.
uint64_t left_of_group(const std::string& folder) {
  const auto limit = number_in(folder + "/memory.max");
  const auto used = number_in(folder + "/memory.current");
  if (!limit || !used) return kUnknown;
  const std::string stat = folder + "/memory.stat";
  const uint64_t files = field(stat, "inactive_file ") + field(stat, "active_file ");
  const uint64_t fixed = *used - std::min(*used, files);
  return *limit - std::min(*limit, fixed);
}

// The path of the process's group below the mount of version 2.
std::string own_group() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, 3, "0::") == 0) return line.substr(3);
  }
  return "";
}

}  // namespace

uint64_t available_host_bytes() {
  static const std::string group = "/sys/fs/cgroup" + own_group();
  return std::min({left_of_machine(), left_of_group(group), left_of_group("/sys/fs/cgroup")});
}

}  // namespace warpgrade::emu
