#include "judge/compile/compile_slot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <thread>

#include "base/process.h"
#include "base/waiting.h"

namespace warpgrade {
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds kLookAgain{20};

FileDescriptor open_lock(const fs::path& file) {
  return FileDescriptor(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
}

bool lock_now(const FileDescriptor& file) {
  return flock(file.get(), LOCK_EX | LOCK_NB) == 0;
}

fs::path named(const fs::path& at, const std::string& end) {
  return at.string() + "." + end;
}

}  // namespace

fs::path CompileSlot::place() {
  return fs::temp_directory_path() / fmt::format("warpgrade-compile-{}", getuid());
}

// Who waits keeps the turn: who came later does not come first.
CompileSlot::CompileSlot(const fs::path& at, const std::vector<int>& cores, std::chrono::milliseconds longest,
                         const std::function<void(const std::string&)>& notify) {
  const FileDescriptor turn = open_lock(named(at, fmt::format("turn-{}", cores.front())));
  if (!turn) return;
  bool mine = lock_now(turn);
  if (mine && take(at, cores)) return;
  const SlowNote note(fmt::format("waiting to compile: {} at once, as many as cores", cores.size()), notify);
  const auto deadline = Clock::now() + longest;
  while (Clock::now() < deadline) {
    throw_if_interrupted();
    std::this_thread::sleep_for(kLookAgain);
    mine = mine || lock_now(turn);
    if (mine && take(at, cores)) return;
  }
}

bool CompileSlot::take(const fs::path& at, const std::vector<int>& cores) {
  for (const int core : cores) {
    FileDescriptor file = open_lock(named(at, std::to_string(core)));
    if (!file || !lock_now(file)) continue;
    slot_ = std::move(file);
    return true;
  }
  return false;
}

}  // namespace warpgrade
