// The submission's three functions, called: what they throw, return and leave behind becomes one result. Used
// by the host process of an executor and by the runner without one.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "judge/protocol/call_result.h"
#include "runner_lab.h"

namespace warpgrade::runner {

struct CallResult {
  protocol::CallSummary summary;
  std::string message;  // what was thrown: "std::runtime_error: no idea"
};

// kPlan, kRun and kFree. Does not wait for the device; what is left behind is the last error by then.
CallResult call_submission(LabRunner& lab, const protocol::Command& command, const Buffers& buffers,
                           cudaStream_t stream);

// In a host process of an executor: serves its commands until it ends. The exit code.
int serve_executor();

}  // namespace warpgrade::runner
