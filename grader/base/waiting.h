// No wait is silent: what takes longer than a moment says what it waits for, a lock says who holds it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace warpgrade {

// After so long a person wonders what is going on.
inline constexpr std::chrono::seconds kSilentWait{3};

// Says once, through `notify`, what this program waits for, when the object has lived for kSilentWait. `what`
// is asked then, in another thread; where it answers nothing (""), it is asked again after as long.
class SlowNote {
 public:
  using What = std::function<std::string()>;
  using Notify = std::function<void(const std::string&)>;
  explicit SlowNote(What what, Notify notify = {});  // without `notify`: a line on standard error
  explicit SlowNote(std::string what, Notify notify = {});
  ~SlowNote();
  SlowNote(const SlowNote&) = delete;
  SlowNote& operator=(const SlowNote&) = delete;

 private:
  void watch();

  What what_;
  Notify notify_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::jthread thread_;
};

// A process that holds a lock.
struct LockOwner {
  int pid = 0, parent = 0;
  std::string text;  // "`warpgrade batch runs/week7` (process 123)"; of a judge the command that started it
};

// Who holds a lock (flock) on the file, as the kernel's list of locks tells it. Nothing: nobody, or a process
// that this one cannot see (on another machine, in another container).
std::optional<LockOwner> lock_owner(const std::filesystem::path& file);

// Takes the lock for this process alone and waits for it as long as it takes. "waiting for `what`: ... has
// it" is told where that is not at once. Throws Interrupted, and UsageError where there can be no lock.
void lock_with_notice(int descriptor, const std::filesystem::path& file, const std::string& what);

}  // namespace warpgrade
