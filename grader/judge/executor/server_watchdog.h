// Looks from a thread of its own whether the server's thread has come back from its backend. A launch into a
// full queue behind a kernel that never ends returns never, and no loop of the server's runs meanwhile.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "judge/executor/server.h"

namespace warpgrade::executor {

class Watchdog {
 public:
  // After `seconds` in one call `end` is called, once, on the watchdog's thread. It ends the process: nothing
  // else frees the thread that hangs. 0 seconds: watches nothing.
  Watchdog(const CallServer& server, double seconds, std::function<void(const GaveUp&)> end);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;

 private:
  void watch();

  const CallServer& server_;
  const double seconds_;
  const std::function<void(const GaveUp&)> end_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace warpgrade::executor
