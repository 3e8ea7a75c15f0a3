// The submission's three functions, called: what they throw, return and leave behind becomes one result. Used
// by the host process of an executor and by the runner without one.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "runner_lab.h"

namespace warpgrade::runner {

struct CallResult {
  bool threw = false;
  std::string message;  // what was thrown: "std::runtime_error: no idea"
  cudaError_t returned = cudaSuccess;
  cudaError_t left = cudaSuccess;  // by an unchecked launch; read only where it says nothing of the device
};

// kPlan, kRun and kFree. Does not wait for the device.
CallResult call_submission(LabRunner& lab, const protocol::Command& command, const Buffers& buffers,
                           cudaStream_t stream);

// In a host process of an executor: serves its commands until it ends. The exit code.
int serve_executor();

}  // namespace warpgrade::runner
