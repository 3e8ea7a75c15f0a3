#include "judge/executor/server_watchdog.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace warpgrade::executor {

using Clock = std::chrono::steady_clock;

Watchdog::Watchdog(const CallServer& server, double seconds, std::function<void(const GaveUp&)> end)
    : server_(server), seconds_(seconds), end_(std::move(end)) {
  if (seconds_ > 0) thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::watch() {
  const auto pause = std::chrono::duration<double>(std::clamp(seconds_ / 8, 0.01, 0.25));
  uint64_t seen = 0;
  auto since = Clock::now();
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, pause, [this] { return is_over_; })) {
    const uint64_t now = server_.activity();
    const bool is_in_a_call = now % 2 == 1;
    if (now != seen || !is_in_a_call) {
      seen = now;
      since = Clock::now();
      continue;
    }
    const double waited = std::chrono::duration<double>(Clock::now() - since).count();
    if (waited < seconds_) continue;
    end_({Ending::driver_did_not_return, server_.call_in_hand(), waited});
    return;
  }
}

}  // namespace warpgrade::executor
