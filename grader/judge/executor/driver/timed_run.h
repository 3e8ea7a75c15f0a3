// A timed run of a submission, all of it the executor's. README.md says why it is done this way;
// timing_gate.h is its clock.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "judge/executor/driver/driver.h"
#include "judge/executor/driver/timing_gate.h"
#include "judge/executor/server.h"

namespace warpgrade::executor {

struct TimedResult : GateTimes {
  double constant_us = 0;  // of an empty run, to be taken off stamps_us
  int64_t status = 0;      // what the host process said of its run
  std::string message;     // and its text
  cudaError_t error = cudaSuccess;
  double host_us = 0;  // of host code behind the closed gate; of a plain command: all of it
  uint64_t launches = 0;
  // Why there is no result: the host process ended or did not return, the device did not finish. The executor
  // is to be replaced.
  Ending ending = Ending::none;
};

class TimedRuns {
 public:
  // Throws std::runtime_error.
  explicit TimedRuns(Driver& driver) : driver_(driver) {}
  TimedRuns(Driver& driver, CallServer& server) : TimedRuns(driver) { take(server); }
  ~TimedRuns();
  TimedRuns(const TimedRuns&) = delete;

  // The server whose host process runs from now on; leave() before it goes.
  void take(CallServer& server);
  void leave();

  // `is_alive` says whether the host process is there. (Its owner stops it between its turns: what it writes
  // into the ring meanwhile is not served.)
  struct Host {
    std::function<bool()> is_alive = [] { return true; };
  };
  TimedResult run(const wire::Command& command, const Host& host, double limit_s = 10);
  // Instead of a command, work of ours that is put into a stream: calibration.
  TimedResult run_own(const std::function<void(CUstream)>& body);
  // The same without gate and clocks: plan and free.
  TimedResult plain(const wire::Command& command, const Host& host, double limit_s = 60);

  TimingGate& gate() { return gate_; }

 private:
  std::vector<CUstream> streams() const;
  static bool end_without_result(TimedResult& result, Ending ending, const std::string& text);
  bool wait_until_idle(TimedResult& result, double limit_s, const char* name);
  bool serve_until_done(const Host& host, double limit_s, TimedResult& result);

  Driver& driver_;
  CallServer* server_ = nullptr;
  TimingGate gate_;
  unsigned behind_gate_ = 0;
};

}  // namespace warpgrade::executor
