#include "nccl/still_threads.h"

#include <sys/syscall.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

namespace warpgrade::nccl {
namespace {

// Of a thread that ends meanwhile nothing comes. A stream of C++ would throw then.
std::string read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "r"), &std::fclose);
  char text[4096];
  return file == nullptr ? "" : std::string(text, std::fread(text, 1, sizeof text, file.get()));
}

// "202 0x<word> 0x<operation> 0x<value> 0x<time limit> ...", "running", or nothing.
bool waits_for_a_thread(const std::string& folder) {
  long number = -1;
  unsigned long word = 0, operation = 0, value = 0, limit = 1;
  const std::string text = read_file(folder + "/syscall");
  if (std::sscanf(text.c_str(), "%ld %lx %lx %lx %lx", &number, &word, &operation, &value, &limit) != 5)
    return false;
  return number == SYS_futex && limit == 0;
}

std::optional<uint64_t> times_waited(const std::string& folder) {
  const std::string text = read_file(folder + "/status");
  const std::string name = "\nvoluntary_ctxt_switches:";
  const size_t at = text.find(name);
  if (at == std::string::npos) return std::nullopt;
  return std::strtoull(text.c_str() + at + name.size(), nullptr, 10);
}

}  // namespace

std::optional<std::map<pid_t, uint64_t>> still_threads(const std::set<pid_t>& but) {
  std::map<pid_t, uint64_t> threads;
  std::error_code error;
  std::filesystem::directory_iterator at("/proc/self/task", error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    const std::filesystem::path& folder = at->path();
    const auto thread = static_cast<pid_t>(std::strtol(folder.filename().c_str(), nullptr, 10));
    if (but.contains(thread)) continue;
    const std::optional<uint64_t> times = times_waited(folder);
    if (!times || !waits_for_a_thread(folder)) return std::nullopt;
    threads[thread] = *times;
  }
  if (error) return std::nullopt;
  return threads;
}

}  // namespace warpgrade::nccl
