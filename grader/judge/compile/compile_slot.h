// As many compilations at once as cores, whichever of a user's runs on this machine they belong to. A slot is
// a locked file in the temporary folder, as the GPU's lease is; the kernel gives a dead process's lock back.
// Each core has its own, so that jobs on different cores of a node do not wait for each other.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/files.h"

namespace warpgrade {

class CompileSlot {
 public:
  // Waits for the slot of one of these cores (files `at`.0, `at`.1, ... and `at`.turn-0), in the order of
  // asking; behind `longest` it goes on without one. Nor is there one where the files cannot be had:
  // whatever else goes on, a compilation's CPU time decides. A long wait is told through `notify`
  // (waiting.h). Throws Interrupted.
  CompileSlot(const std::filesystem::path& at, const std::vector<int>& cores,
              std::chrono::milliseconds longest, const std::function<void(const std::string&)>& notify = {});
  bool held() const { return static_cast<bool>(slot_); }

  // Where this user's are.
  static std::filesystem::path place();

 private:
  bool take(const std::filesystem::path& at, const std::vector<int>& cores);
  FileDescriptor slot_;
};

}  // namespace warpgrade
