#include "base/waiting.h"

#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/process.h"
#include "base/say.h"
#include "base/text.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

// A process's command as a person typed it, without the folder of the program.
std::string command_of(int pid) {
  std::ifstream file(fmt::format("/proc/{}/cmdline", pid), std::ios::binary);
  std::string text;
  for (std::string word; std::getline(file, word, '\0');)
    text += text.empty() ? fs::path(word).filename().string() : " " + word;
  return plain_line(text, 120);
}

int parent_of(int pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("PPid:")) return std::atoi(line.c_str() + 5);
  return 0;
}

// A judge has no words of its own: who started it has.
std::string owner_text(int pid) {
  std::string command = command_of(pid);
  if (command.starts_with("warpgrade-judge")) {
    if (const std::string started_by = command_of(parent_of(pid)); !started_by.empty()) command = started_by;
  }
  return command.empty() ? fmt::format("process {}", pid) : fmt::format("`{}` (process {})", command, pid);
}

}  // namespace

SlowNote::SlowNote(What what, Notify notify)
    : what_(std::move(what)), notify_(std::move(notify)), thread_([this] { watch(); }) {}

SlowNote::SlowNote(std::string what, Notify notify)
    : SlowNote([text = std::move(what)] { return text; }, std::move(notify)) {}

SlowNote::~SlowNote() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_all();
}

void SlowNote::watch() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kSilentWait, [this] { return over_; })) {
    const std::string text = what_();
    if (text.empty()) continue;
    if (notify_)
      notify_(text);
    else
      say("{}\n", text);
    return;
  }
}

std::optional<LockOwner> lock_owner(const fs::path& file) {
  struct stat about = {};
  if (stat(file.c_str(), &about) != 0) return std::nullopt;
  // "1: FLOCK  ADVISORY  WRITE 1234 08:02:5678 0 EOF"; who waits stands behind "->". The device is not
  // compared: overlays show another one.
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, how, mode, place;
    int pid = 0;
    if (!(words >> number >> kind >> how >> mode >> pid >> place) || kind != "FLOCK" || pid <= 0) continue;
    if (std::strtoull(place.c_str() + place.rfind(':') + 1, nullptr, 10) != about.st_ino) continue;
    return LockOwner{pid, parent_of(pid), owner_text(pid)};
  }
  return std::nullopt;
}

void lock_with_notice(int descriptor, const fs::path& file, const std::string& what) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return;
  const SlowNote note([&] {
    const auto owner = lock_owner(file);
    return fmt::format("waiting for {}: {} has it", what,
                       owner ? owner->text : "a process that cannot be seen from here");
  });
  while (flock(descriptor, LOCK_EX) != 0) {
    if (errno != EINTR) throw UsageError("cannot lock {}: {}", file.string(), std::strerror(errno));
    throw_if_interrupted();
  }
}

}  // namespace warpgrade
