#include "base/cpu_time.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"

namespace warpgrade {
namespace {

// A file of /proc is made when it is read, so one read takes all of a short one.
std::string short_text(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> text;
  const ssize_t n = file ? read(file.get(), text.data(), text.size()) : 0;
  return n > 0 ? std::string(text.data(), static_cast<std::size_t>(n)) : std::string();
}

struct Process {
  int parent = 0;
  long ticks = 0;
};

// Fields 4 (parent) and 14 to 17 (user and system time, its own and of children that it waited for); the name
// in field 2 may hold anything, and ends with the last parenthesis.
Process read_process(const std::string& pid) {
  const std::string stat = short_text("/proc/" + pid + "/stat");
  const std::size_t end = stat.rfind(')');
  if (end == std::string::npos) return {};
  std::istringstream fields(stat.substr(end + 1));
  std::string word;
  Process process;
  for (int field = 3; field <= 17 && fields >> word; ++field) {
    if (field == 4) process.parent = std::atoi(word.c_str());
    if (field >= 14) process.ticks += std::atol(word.c_str());
  }
  return process;
}

std::map<int, Process> all_processes() {
  std::map<int, Process> all;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (name.find_first_not_of("0123456789") == std::string::npos)
      all[std::atoi(name.c_str())] = read_process(name);
  }
  return all;
}

}  // namespace

std::chrono::microseconds cpu_time_of_tree(int pid) {
  const std::map<int, Process> all = all_processes();
  const auto belongs = [&](int one) {
    for (std::size_t up = 0; up <= all.size() && one > 1; ++up) {  // it changes while it is read: no circles
      if (one == pid) return true;
      const auto found = all.find(one);
      one = found == all.end() ? 0 : found->second.parent;
    }
    return false;
  };
  double ticks = 0;
  for (const auto& [one, process] : all) {
    if (belongs(one)) ticks += static_cast<double>(process.ticks);
  }
  const double a_second = static_cast<double>(std::max(1L, sysconf(_SC_CLK_TCK)));
  return std::chrono::microseconds(static_cast<long>(1e6 * ticks / a_second));
}

// "0.61 2.95 3.84 6/106 8762": the fourth has the threads that are runnable now, and the one that reads.
void MeanLoad::look() {
  std::istringstream words(short_text("/proc/loadavg"));
  std::string skipped;
  int runnable = 0;
  if (!(words >> skipped >> skipped >> skipped >> runnable)) return;
  sum_ += std::max(0, runnable - 1);
  ++looks_;
}

void MeanLoad::add(const MeanLoad& other) {
  sum_ += other.sum_;
  looks_ += other.looks_;
}

}  // namespace warpgrade
