// The clock of timed runs (driver/timing_gate.h) for a process that launches by itself: a program that is not a
// submission is timed as one would be. scripts/measure triton times Triton's own launcher with it, by ctypes.
// All functions work in the calling thread's current context.
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "judge/executor/driver/timing_gate.h"

namespace {

using namespace warpgrade::executor;

constexpr double kFailed = -1, kVoid = -2, kLimitS = 10;
std::unique_ptr<TimingGate> g_gate;
std::vector<CUstream> g_streams;
double g_constant_us = 0;

template <class Work>
double told(const char* what, Work&& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stopwatch: %s: %s\n", what, error.what());
    return kFailed;
  }
}

}  // namespace

extern "C" {

// What an empty run takes in this process, in us; negative: there is no clock, standard error says why.
double stopwatch_open(void* stream) {
  return told("open", [&] {
    g_streams = {static_cast<CUstream>(stream), CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    g_gate = std::make_unique<TimingGate>();
    const std::optional<double> constant = g_gate->constant_us();
    g_constant_us = constant.value_or(0);
    return constant ? g_constant_us : kVoid;
  });
}

// The device is idle, caches hold nothing of earlier runs, and what is enqueued from now on waits.
double stopwatch_begin() {
  return told("begin", [] {
    require(driver_api().cuCtxSynchronize_(), "cuCtxSynchronize");
    g_gate->forget_earlier_runs();
    g_gate->close(g_streams);
    return 0.0;
  });
}

// The device's time of what was enqueued since, in us. Negative: no result; -2: a run to be repeated.
double stopwatch_end() {
  return told("end", [] {
    const GateTimes times = g_gate->finish(g_streams, kLimitS);
    require(times.state, "the run");
    return times.is_void ? kVoid : times.stamps_us - g_constant_us;
  });
}
}
