// A timed run, all of it the executor's. README.md says why it is done this way.
//
// The graded time is the end less the start less the constant of an empty run. The start is a value of the
// GPU's clock
// (%globaltimer) that was decided while no other kernel could run; the end is read by a kernel of ours behind
// the join of all streams. A submission's kernels can rewrite event time stamps, but neither of these.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "executor/driver/driver.h"
#include "executor/server.h"

namespace warpgrade::executor {

struct TimedResult {
  int64_t status = 0;   // what the host process said of its run
  std::string message;  // and its text
  cudaError_t error = cudaSuccess;
  double stamps_us = 0;      // end less start, the constant not taken off
  double event_us = 0;       // between events beside them
  double host_clock_us = 0;  // from opening the gate to the device being done
  double host_us = 0;        // of host code behind the closed gate
  double announce_us = 0;    // from opening the gate to knowing the start: below the lead, or the run is void
  std::string opened_by;     // the call that waited for the device; empty when `run` had returned
  uint64_t launches = 0;
  // Why there is no result: the host process ended or did not return, the device did not finish. The executor
  // is to be replaced.
  Ending ending = Ending::none;
  bool is_void = false;  // the start was not known in time, or the gate opened by itself: run it again
};

// What a page of host memory holds that the kernels write to (timing_kernels.cu).
struct TimingPage {
  volatile uint32_t opened;
  volatile uint32_t timed_out;
  volatile uint64_t start;
  volatile uint64_t end;
};

class TimedRuns {
 public:
  // Throws std::runtime_error.
  TimedRuns(Driver& driver, Server& server);
  ~TimedRuns();
  TimedRuns(const TimedRuns&) = delete;

  // `thaw` lets the host process go, `freeze` stops it; `is_alive` says whether it is there. `body`: instead
  // of a command, work of ours that is put into a stream (calibration).
  struct Host {
    std::function<void()> thaw = [] {}, freeze = [] {};
    std::function<bool()> is_alive = [] { return true; };
  };
  TimedResult run(const wire::Command& command, const Host& host, double limit_s = 10);
  TimedResult run_own(const std::function<void(CUstream)>& body);
  // The same without gate and clocks: plan and free.
  TimedResult plain(const wire::Command& command, const Host& host, double limit_s = 60);

  // Median of empty runs, in us; taken off the stamps it leaves the time of the work.
  double measure_constant(unsigned runs = 50);
  double clock_step_ns();
  // A kernel of ours that works for a while, for calibration.
  void spin(CUstream stream, uint64_t ns);

 private:
  void reset_l2();
  void close_gate();
  void open_gate(const char* by);
  void join_streams();
  static bool end_without_result(TimedResult& result, Ending ending, const std::string& text);
  bool wait_until_idle(TimedResult& result, double limit_s, const char* name);
  bool serve_until_done(const Host& host, double limit_s, TimedResult& result);
  void finish(TimedResult& result, double limit_s);
  CUfunction function(const char* name);

  Driver& driver_;
  Server& server_;
  const DriverApi& api_;
  CUmodule module_ = nullptr;
  CUfunction gate_ = nullptr, end_ = nullptr, step_ = nullptr, spin_ = nullptr;
  unsigned gate_blocks_ = 0;
  CUstream stream_ = nullptr;
  CUevent start_event_ = nullptr, end_event_ = nullptr, join_event_ = nullptr;
  TimingPage* page_ = nullptr;
  CUdeviceptr page_on_device_ = 0, start_on_device_ = 0;
  CUdeviceptr flush_ = 0;  // twice as large as L2
  size_t flush_bytes_ = 0;
  uint32_t number_ = 0;
  bool is_closed_ = false, is_timing_ = false;
  unsigned behind_gate_ = 0;
  std::string opened_by_;
  uint64_t start_ = 0;  // ours: copied from the page before it came
  double opened_at_ = 0, announce_us_ = 0;
};

}  // namespace warpgrade::executor
