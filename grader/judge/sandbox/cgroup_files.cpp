#include "judge/sandbox/cgroup_files.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

namespace warpgrade {
namespace fs = std::filesystem;

std::string cgroup_text(const fs::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<std::string> cgroup_words(const std::string& text, char separator) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + separator) {
    if (c != separator && c != '\n') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  return words;
}

std::size_t cgroup_number(const std::string& text, const std::string& key) {
  const std::string start = key + " ";
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (text.compare(at, start.size(), start) == 0) {
      std::size_t number = 0;
      std::from_chars(text.data() + at + start.size(), text.data() + end, number);
      return number;
    }
    at = end + 1;
  }
  return 0;
}

const char* cgroup_door(int version) {
  return version == 2 ? "cgroup.procs" : "tasks";
}

int write_cgroup(const fs::path& file, const std::string& word) {
  const int fd = open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error = write(fd, word.data(), word.size()) < 0 ? errno : 0;
  close(fd);
  return error;
}

void kill_cgroup_members(const fs::path& folder) noexcept try {
  if (write_cgroup(folder / "cgroup.kill", "1") == 0) return;
  // Version 1, or a kernel before 5.14: nothing can fork while each is told.
  if (fs::exists(folder / "pids.max")) write_cgroup(folder / "pids.max", "0");
  for (const std::string& pid : cgroup_words(cgroup_text(folder / "cgroup.procs"), '\n')) {
    if (const int number = std::atoi(pid.c_str()); number > 0) ::kill(number, SIGKILL);
  }
  if (fs::exists(folder / "freezer.state")) write_cgroup(folder / "freezer.state", "THAWED");
  if (fs::exists(folder / "cgroup.freeze")) write_cgroup(folder / "cgroup.freeze", "0");
} catch (const std::exception&) {
  // No memory for a name: the caller sees that the group is not empty.
}

bool remove_cgroup(const fs::path& folder, std::chrono::milliseconds limit) noexcept {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + limit;
  for (auto pause = std::chrono::microseconds(50);;) {
    if (rmdir(folder.c_str()) == 0 || errno == ENOENT) return true;
    if (errno != EBUSY || Clock::now() >= deadline) return false;
    kill_cgroup_members(folder);
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(5000));
  }
}

}  // namespace warpgrade
