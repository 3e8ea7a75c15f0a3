// The clock of a timed run: a gate that holds the whole device back, and the stamps before and behind the
// work. README.md says why it is done this way. One class times the submissions (TimedRuns, in the executor)
// and the baselines (the runner without one).
//
// The graded time is the end less the start less the constant of an empty run. The start is a value of the
// GPU's clock (%globaltimer) that was decided while no other kernel could run; the end is read by a kernel
// of ours behind the join of all streams. A submission's kernels can rewrite event time stamps, but
// neither of these.
#pragma once
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "judge/executor/driver/driver_api.h"

namespace warpgrade::executor {

// What a page of host memory holds that the kernels write to (timing_kernels.cu).
struct TimingPage {
  volatile uint32_t opened;
  volatile uint64_t start;
  volatile uint64_t end;
};

struct GateTimes {
  CUresult state = CUDA_SUCCESS;
  double stamps_us = 0;      // end less start, the constant not taken off
  double event_us = 0;       // between events beside them
  double host_clock_us = 0;  // from opening the gate to the whole context being idle
  double announce_us = 0;    // from opening the gate to knowing the start: below the lead, or the run is void
  std::string opened_by;     // the call that waited for the device; empty when the work had been enqueued
  bool is_void = false;      // the start was not known in time, or the gate may have opened by itself
};

double steady_us();

// How a run's start became known; by the host's clock, which no kernel can write to.
struct GateOpening {
  double closed_for_us = 0;  // before the host opened it
  double announce_us = 0;    // from then to knowing the start
  uint64_t start = 0;        // 0: not known
};

inline constexpr uint64_t kAheadNs = 10'000;             // from the host's word to the start
inline constexpr uint64_t kGateLimitNs = 4'000'000'000;  // a gate that nobody opens ends by itself

// Whether the start was decided, and copied, while no kernel of a submission could run. Once a gate has ended
// by itself, what lies in its page is the kernels' to write, so only the host's clock is asked.
inline bool is_sound(const GateOpening& opening) {
  constexpr double kAheadUs = 1e-3 * kAheadNs, kLongestClosedUs = 0.9e-3 * kGateLimitNs;
  return opening.start != 0 && opening.announce_us <= kAheadUs && opening.closed_for_us < kLongestClosedUs;
}

class TimingGate {
 public:
  // In the current context. Throws std::runtime_error.
  TimingGate();
  ~TimingGate();
  TimingGate(const TimingGate&) = delete;

  // The device is idle and holds nothing of an earlier run but what lies in its memory: L2 (lines that
  // persist among them), shared memory and registers are overwritten. Throws.
  void forget_earlier_runs();
  // Holds all kernels back, and all that is put into these streams. Throws.
  void close(std::span<const CUstream> streams);
  // Lets them go; nothing when it is open. Any thread may do so.
  void open(const char* by);
  bool is_closed() const { return is_closed_; }
  // When the gate was opened, in steady_us().
  double opened_at_us() const { return opened_at_; }
  // A stream that came or goes while the gate's run is going on.
  void add_stream(CUstream stream);
  void join_stream(CUstream stream);
  // Behind the work: joins the streams, opens the gate if it is still closed, waits for the end.
  GateTimes finish(std::span<const CUstream> streams, double limit_s);

  // Median of empty runs, in us; taken off the stamps it leaves the time of the work. Measured when it is
  // first asked for: then the device is this process's alone, while others that come up beside it make every
  // start too late to be known. Nothing when that is so now: ask again later.
  std::optional<double> constant_us();
  // The smallest step of the clock.
  double clock_step_ns();
  // A kernel of ours that works for a while, for calibration.
  void spin(CUstream stream, uint64_t ns);

 private:
  CUfunction function(const char* name);
  void prepare_wipe(CUdevice device, int multiprocessors);
  void wipe_multiprocessors();
  void reset_l2();
  void record_all_work();
  CUresult wait_for_all_work(double deadline_us);

  const DriverApi& api_;
  CUmodule module_ = nullptr;
  CUfunction gate_ = nullptr, end_ = nullptr, step_ = nullptr, spin_ = nullptr, read_ = nullptr,
             wipe_ = nullptr;
  unsigned gate_blocks_ = 0, wipe_blocks_ = 0, shared_bytes_ = 0;
  CUstream stream_ = nullptr;
  CUcontext context_ = nullptr;
  CUevent start_event_ = nullptr, end_event_ = nullptr, join_event_ = nullptr, idle_event_ = nullptr;
  bool knows_idle_ = false;  // the idle event stands behind all work of the run
  TimingPage* page_ = nullptr;
  CUdeviceptr page_on_device_ = 0, start_on_device_ = 0;
  CUdeviceptr flush_ = 0;  // twice as large as L2
  size_t flush_bytes_ = 0;
  uint32_t number_ = 0;
  std::optional<double> constant_us_;
  std::mutex opening_;
  bool is_closed_ = false, is_timing_ = false;
  std::string opened_by_;
  GateOpening opening_found_;  // ours: the start was copied from the page before another kernel came
  double closed_at_ = 0, opened_at_ = 0;
};

}  // namespace warpgrade::executor
