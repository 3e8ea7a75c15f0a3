#include "native_timing.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "device_memory.h"
#include "judge/executor/driver/timing_gate.h"

namespace warpgrade::runner {
namespace {

// The work may wait for the device itself, or fill the driver's queue: then it needs the gate open. What it
// has enqueued by then is timed from the opening all the same.
constexpr std::chrono::microseconds kPatience{1500};

}  // namespace

struct NativeTiming::Clock {
  Clock() : helper([this] { help(); }) {}
  ~Clock() {
    {
      const std::lock_guard lock(mutex);
      ends = true;
    }
    changed.notify_all();
    helper.join();
  }

  // Whether work is going on behind the gate.
  void set_working(bool value) {
    {
      const std::lock_guard lock(mutex);
      working = value;
      ++turn;
    }
    changed.notify_all();
  }

  void help() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return working || ends; });
      if (ends) return;
      const unsigned mine = turn;
      if (changed.wait_for(lock, kPatience, [&] { return turn != mine || ends; })) continue;
      gate.open("waited");  // under the lock: the gate of the next turn is not this one's to open
      changed.wait(lock, [&] { return turn != mine || ends; });
    }
  }

  executor::TimingGate gate;
  std::mutex mutex;
  std::condition_variable changed;
  bool working = false, ends = false;
  unsigned turn = 0;
  std::thread helper;
};

NativeTiming::NativeTiming() : clock_(on_emulator() ? nullptr : std::make_unique<Clock>()) {}

NativeTiming::~NativeTiming() = default;

void NativeTiming::run(cudaStream_t stream, protocol::Reply& reply, const std::function<void()>& work) {
  if (!clock_) return work();
  executor::TimingGate& gate = clock_->gate;
  const CUstream streams[] = {static_cast<CUstream>(stream), CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
  const auto constant_us = gate.constant_us();
  gate.forget_earlier_runs();
  gate.close(streams);
  const double begin = executor::steady_us();
  clock_->set_working(true);
  work();
  clock_->set_working(false);
  const double opened = gate.opened_at_us();
  reply.host_us = (opened > begin ? opened : executor::steady_us()) - begin;
  constexpr double kLimitS = 1e6;  // the judge's is shorter
  const executor::GateTimes times = gate.finish(streams, kLimitS);
  if (times.state != CUDA_SUCCESS) return;  // the stream's error says what it is
  reply.stamps_us = times.stamps_us;
  reply.constant_us = constant_us.value_or(0);
  reply.event_us = times.event_us;
  reply.clock_us = times.host_clock_us;
  reply.flags = (times.opened_by.empty() ? 0 : protocol::kFlagWaited) |
                (times.is_void || !constant_us ? protocol::kFlagVoid : 0);
}

}  // namespace warpgrade::runner
