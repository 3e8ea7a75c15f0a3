#include "judge/sandbox/cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "judge/sandbox/cgroup_files.h"

namespace warpgrade {
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kLongestKill{20};
constexpr unsigned kDyingWeight = 2000;
constexpr std::chrono::milliseconds kLongestFreeze{2000};

// A file that is read again and again, from its start.
std::string text_from(const FileDescriptor& file) {
  char buffer[4096];
  const ssize_t n = file ? pread(file.get(), buffer, sizeof buffer, 0) : 0;
  return n > 0 ? std::string(buffer, static_cast<size_t>(n)) : std::string();
}

std::size_t number_in(const std::string& text) {
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

FileDescriptor open_to_read(const fs::path& file) {
  return FileDescriptor(open(file.c_str(), O_RDONLY | O_CLOEXEC));
}

void require_write(const fs::path& file, const std::string& word) {
  if (const int error = write_cgroup(file, word); error != 0)
    throw JudgeFault("cannot write '{}' to {}: {}", word, file.string(), std::strerror(error));
}

// Version 1's share of the CPU, 1024 being usual.
unsigned cpu_shares(unsigned weight) {
  return std::max(2u, weight * 1024 / 100);
}

}  // namespace

ControlGroup::ControlGroup(const CgroupPlace& place, const GroupLimits& limits) : limits_(limits) {
  const std::string name = new_cgroup_name();
  try {
    for (const CgroupHierarchy& hierarchy : place.hierarchies) add(hierarchy, name);
    set_limits();
    open_cpu_usage();
    for (const auto& folder : folders_) {
      if (folder->version == 2)
        cgroup_folder_ = FileDescriptor(open(folder->path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
  } catch (...) {
    remove(std::chrono::milliseconds(100));
    throw;
  }
}

void ControlGroup::add(const CgroupHierarchy& hierarchy, const std::string& name) {
  auto folder = std::make_unique<Folder>();
  folder->version = hierarchy.version;
  folder->path = hierarchy.base / name;
  if (mkdir(folder->path.c_str(), 0755) != 0)
    throw JudgeFault("cannot make the control group {}: {}", folder->path.string(), std::strerror(errno));
  const Folder& made = *folders_.emplace_back(std::move(folder));
  const fs::path door = made.path / cgroup_door(made.version);
  folders_.back()->door = FileDescriptor(open(door.c_str(), O_WRONLY | O_CLOEXEC));
  if (!made.door) throw JudgeFault("cannot open {}: {}", door.string(), std::strerror(errno));
  if (hierarchy.controllers.contains("memory")) memory_ = &made;
  if (hierarchy.controllers.contains("pids")) pids_ = &made;
  if (hierarchy.controllers.contains("cpu")) cpu_ = &made;
  // Version 2 freezes and kills better, and needs no controller for it.
  if (made.version == 2 && fs::exists(made.path / "cgroup.freeze")) freezer_ = &made;
  if (made.version == 2 && fs::exists(made.path / "cgroup.kill")) killer_ = &made;
  if (freezer_ == nullptr && hierarchy.controllers.contains("freezer")) freezer_ = &made;
}

void ControlGroup::set_limits() {
  if (memory_ != nullptr) {
    const bool second = memory_->version == 2;
    if (limits_.memory_bytes != 0) {
      const std::string bytes = std::to_string(limits_.memory_bytes);
      require_write(memory_->path / (second ? "memory.max" : "memory.limit_in_bytes"), bytes);
      // No swap beyond the limit; version 1 counts memory and swap together. A kernel may be without.
      if (second) {
        write_cgroup(memory_->path / "memory.swap.max", "0");
        write_cgroup(memory_->path / "memory.oom.group", "1");
      } else {
        write_cgroup(memory_->path / "memory.memsw.limit_in_bytes", bytes);
      }
    }
    memory_usage_ = open_to_read(memory_->path / (second ? "memory.current" : "memory.usage_in_bytes"));
    memory_events_ = open_to_read(memory_->path / (second ? "memory.events" : "memory.oom_control"));
  }
  if (pids_ != nullptr && limits_.processes != 0) {
    require_write(pids_->path / "pids.max", std::to_string(limits_.processes));
    pids_events_ = open_to_read(pids_->path / "pids.events");
  }
  set_cpu_weight(limits_.cpu_weight);
}

// Of version 1 the controller cpuacct counts, which is mounted with cpu as a rule.
void ControlGroup::open_cpu_usage() {
  for (const auto& folder : folders_) {
    const bool second = folder->version == 2;
    FileDescriptor file = open_to_read(folder->path / (second ? "cpu.stat" : "cpuacct.usage"));
    if (!file || (second && text_from(file).find("usage_usec ") == std::string::npos)) continue;
    cpu_usage_ = std::move(file);
    cpu_usage_is_second_ = second;
    return;
  }
}

void ControlGroup::set_cpu_weight(unsigned weight) {
  if (cpu_ == nullptr) return;
  if (cpu_->version == 2)
    write_cgroup(cpu_->path / "cpu.weight", std::to_string(weight));
  else
    write_cgroup(cpu_->path / "cpu.shares", std::to_string(cpu_shares(weight)));
}

ControlGroup::~ControlGroup() {
  remove(kLongestKill);
}

bool ControlGroup::join(bool born_inside) const noexcept {
  for (const auto& folder : folders_) {
    if (born_inside && folder->version == 2) continue;
    if (write(folder->door.get(), "0", 1) != 1) return false;
  }
  return true;
}

bool ControlGroup::is_empty() const noexcept try {
  return std::all_of(folders_.begin(), folders_.end(), [](const auto& folder) {
    if (folder->version == 2)
      return cgroup_number(cgroup_text(folder->path / "cgroup.events"), "populated") == 0;
    return cgroup_text(folder->path / "cgroup.procs").empty();
  });
} catch (const std::exception&) {
  return false;
}

bool ControlGroup::kill() noexcept try {
  if (is_empty()) return true;
  const auto deadline = Clock::now() + kLongestKill;
  // To end takes CPU time as well, and hundreds of processes with a small share get it late on a busy
  // machine. From here on they run nothing of their own.
  set_cpu_weight(kDyingWeight);
  for (auto pause = std::chrono::microseconds(50);;) {
    if (killer_ != nullptr) {
      kill_cgroup_members(killer_->path);
    } else {
      // Nobody can fork meanwhile: they are frozen, and more processes than none are refused.
      if (freezer_ != nullptr) freeze();
      for (const auto& folder : folders_) kill_cgroup_members(folder->path);
    }
    if (is_empty()) return true;
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(5000));
  }
} catch (const std::exception&) {
  return false;
}

bool ControlGroup::remove(std::chrono::milliseconds limit) noexcept {
  if (!is_empty()) kill();
  bool all = true;
  for (const auto& folder : folders_) all = remove_cgroup(folder->path, limit) && all;
  return all;
}

void ControlGroup::write_freezer(bool frozen) noexcept try {
  if (freezer_->version == 2)
    write_cgroup(freezer_->path / "cgroup.freeze", frozen ? "1" : "0");
  else
    write_cgroup(freezer_->path / "freezer.state", frozen ? "FROZEN" : "THAWED");
} catch (const std::exception&) {
}

bool ControlGroup::freeze() noexcept try {
  if (freezer_ == nullptr) return false;
  write_freezer(true);
  const auto deadline = Clock::now() + kLongestFreeze;
  for (auto pause = std::chrono::microseconds(10);;) {
    const bool second = freezer_->version == 2;
    if (second ? cgroup_number(cgroup_text(freezer_->path / "cgroup.events"), "frozen") == 1
               : cgroup_text(freezer_->path / "freezer.state") == "FROZEN\n")
      return true;
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(1000));
  }
} catch (const std::exception&) {
  return false;
}

void ControlGroup::thaw() noexcept {
  if (freezer_ != nullptr) write_freezer(false);
}

std::size_t ControlGroup::charged_bytes() const {
  return number_in(text_from(memory_usage_));
}

std::size_t ControlGroup::used_bytes() const {
  if (memory_ == nullptr) return 0;
  const std::string stat = cgroup_text(memory_->path / "memory.stat");
  const bool second = memory_->version == 2;
  const std::size_t swapped =
      second ? number_in(cgroup_text(memory_->path / "memory.swap.current")) : cgroup_number(stat, "swap");
  return cgroup_number(stat, second ? "anon" : "rss") + cgroup_number(stat, "shmem") + swapped;
}

std::size_t ControlGroup::peak_bytes() const {
  if (memory_ == nullptr) return 0;
  return number_in(
      cgroup_text(memory_->path / (memory_->version == 2 ? "memory.peak" : "memory.max_usage_in_bytes")));
}

// The kernel counts a kill at the group of the process that it ends, and a limit at the group whose limit was
// met: the first without the second is the doing of a group above, or of the machine.
bool ControlGroup::met_own_memory_limit() const {
  if (memory_ == nullptr || limits_.memory_bytes == 0) return false;
  if (memory_->version == 2) return cgroup_number(text_from(memory_events_), "oom") > 0;
  // Version 1 may not count it (memory.failcnt stays 0 with Linux 6.18): the peak tells. Pages are charged in
  // batches, so the last one may end a little below the limit.
  constexpr std::size_t kBatch = std::size_t{1} << 20;
  return peak_bytes() + kBatch >= limits_.memory_bytes;
}

bool ControlGroup::out_of_memory() const {
  return cgroup_number(text_from(memory_events_), "oom_kill") > 0 && met_own_memory_limit();
}

bool ControlGroup::lacked_memory_above() const {
  return cgroup_number(text_from(memory_events_), "oom_kill") > 0 && !met_own_memory_limit();
}

bool ControlGroup::out_of_processes() const {
  return cgroup_number(text_from(pids_events_), "max") > 0;
}

std::optional<std::chrono::microseconds> ControlGroup::cpu_time() const {
  if (!cpu_usage_) return std::nullopt;
  const std::string text = text_from(cpu_usage_);
  return std::chrono::microseconds(cpu_usage_is_second_ ? cgroup_number(text, "usage_usec")
                                                        : number_in(text) / 1000);
}

std::string ControlGroup::met_limit() const {
  if (out_of_memory()) return fmt::format("more than {} MiB of memory", limits_.memory_bytes >> 20);
  if (out_of_processes()) return fmt::format("more than {} processes and threads", limits_.processes);
  return {};
}

std::shared_ptr<ControlGroup> make_control_group(const GroupLimits& limits) {
  const CgroupPlace& place = cgroup_place();
  if (place.hierarchies.empty()) return nullptr;
  return std::make_shared<ControlGroup>(place, limits);
}

}  // namespace warpgrade
