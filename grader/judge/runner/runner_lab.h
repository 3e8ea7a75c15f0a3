// What a lab's runner does with the submission's functions. One implementation a lab: <lab>_runner.cpp.
#pragma once

#include <cuda_runtime.h>

#include <map>
#include <memory>
#include <string>

#include "judge/protocol/protocol.h"

namespace warpgrade::runner {

using Buffers = std::map<std::string, void*>;  // device pointers by the name they were attached under

class LabRunner {
 public:
  virtual ~LabRunner() = default;
  virtual cudaError_t plan(const protocol::Command& command, const Buffers& buffers, cudaStream_t stream) = 0;
  // The command's arguments are the lab's own, as with plan: what a run may not know before its clock starts.
  virtual cudaError_t run(const protocol::Command& command, const Buffers& buffers, cudaStream_t stream) = 0;
  virtual void free() = 0;
};

std::unique_ptr<LabRunner> make_lab_runner();

}  // namespace warpgrade::runner
