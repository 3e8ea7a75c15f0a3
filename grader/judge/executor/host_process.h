// The process of a submission's host code: started with the socket to its executor and our CUDA runtime.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "judge/executor/shared_memory.h"

namespace warpgrade::executor {

class HostProcess {
 public:
  // `library_folder` holds our libcudart. Throws std::runtime_error when it cannot be started.
  HostProcess(const std::vector<std::string>& command, const std::string& library_folder,
              const SharedMemory& memory);
  // Kills what is still there.
  ~HostProcess();
  HostProcess(const HostProcess&) = delete;

  pid_t pid() const { return pid_; }
  // The exit code, 128 + the signal's number when a signal ended it; nothing while it runs.
  std::optional<int> ended();
  void kill_it();

 private:
  pid_t pid_ = -1;
  Descriptor socket_;
  std::optional<int> code_;
};

}  // namespace warpgrade::executor
