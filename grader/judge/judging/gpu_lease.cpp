#include "judge/judging/gpu_lease.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "base/process.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;

FileDescriptor open_lock(const fs::path& path) {
  // Without O_CREAT first: another user's file in a sticky folder may be opened, but not with it.
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file) file = FileDescriptor(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file) throw JudgeFault("cannot open the GPU's lock {}: {}", path.string(), std::strerror(errno));
  fchmod(file.get(), 0666);  // whatever the umask; fails for another user's, which is right already
  return file;
}

}  // namespace

GpuLease::GpuLease(const fs::path& at) : gpu_(open_lock(at)), turn_(open_lock(at.string() + ".turn")) {}

void GpuLease::lock(const FileDescriptor& file, int operation) {
  while (flock(file.get(), operation) != 0) {
    if (errno != EINTR) throw JudgeFault("cannot lock the GPU: {}", std::strerror(errno));
    throw_if_interrupted();
  }
}

// Who wants the GPU alone keeps the turn while waiting, so that no new sharer comes in between.
void GpuLease::share() {
  if (!gpu_ || state_ == State::kShared) return;
  release();
  lock(turn_, LOCK_EX);
  lock(gpu_, LOCK_SH);
  lock(turn_, LOCK_UN);
  state_ = State::kShared;
}

void GpuLease::own() {
  if (!gpu_ || state_ == State::kOwned) return;
  release();  // before waiting for the turn: its holder may wait for this share
  lock(turn_, LOCK_EX);
  lock(gpu_, LOCK_EX);
  lock(turn_, LOCK_UN);
  state_ = State::kOwned;
}

void GpuLease::release() {
  if (!gpu_ || state_ == State::kNone) return;
  lock(gpu_, LOCK_UN);
  state_ = State::kNone;
}

double GpuLease::yield_to_owner(const std::function<void()>& before, const std::function<void()>& after) {
  if (!gpu_ || state_ != State::kShared) return 0;
  if (flock(turn_.get(), LOCK_EX | LOCK_NB) == 0) {
    lock(turn_, LOCK_UN);
    return 0;
  }
  const auto start = std::chrono::steady_clock::now();
  before();
  release();
  share();
  after();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace warpgrade
