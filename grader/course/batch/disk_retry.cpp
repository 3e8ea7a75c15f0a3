#include "course/batch/disk_retry.h"

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/error.h"
#include "base/process.h"

namespace warpgrade {
namespace {

std::chrono::seconds longest_wait() {
  const char* given = std::getenv("WARPGRADE_DISK_WAIT_S");
  return std::chrono::seconds(given != nullptr ? std::max(0, std::atoi(given)) : 600);
}

}  // namespace

void retry_when_disk_full(EventLog& events, bool retries, const std::function<void()>& write) {
  const auto deadline = std::chrono::steady_clock::now() + longest_wait();
  for (bool reported = false;;) {
    try {
      write();
      if (reported) events.infrastructure("disk_freed", "the results folder takes records again");
      return;
    } catch (const DiskFull& full) {
      if (!retries) throw;
      if (!reported) events.infrastructure("disk_full", full.what());
      reported = true;
      if (std::chrono::steady_clock::now() >= deadline) throw;
    }
    for (int i = 0; i < 10; ++i) {
      throw_if_interrupted();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
}

}  // namespace warpgrade
