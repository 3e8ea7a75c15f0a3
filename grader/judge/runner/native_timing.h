// Times the runs of a program that has no executor: a baseline of ours, by the same clock as the executor's
// (judge/executor/driver/timing_gate.h); a submission with --direct, whose times are then its own word.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <memory>

#include "judge/protocol/protocol.h"

namespace warpgrade::runner {

// On a GPU, in the current context. Nothing on the emulator, which measures no speed.
class NativeTiming {
 public:
  NativeTiming();
  ~NativeTiming();

  // Calls `work`, which enqueues into `stream` and may wait for it, behind a closed gate; then waits for the
  // device and fills in the reply's times.
  void run(cudaStream_t stream, protocol::Reply& reply, const std::function<void()>& work);

 private:
  struct Clock;
  std::unique_ptr<Clock> clock_;
};

}  // namespace warpgrade::runner
