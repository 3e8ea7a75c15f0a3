// What a program of the judge's is started with (judge/judging/runner_process.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>

#include "judge/sandbox/sandbox.h"

namespace warpgrade {

struct RunnerLimits {
  std::chrono::milliseconds start{60'000};  // process start and device context, with the first command
  std::chrono::milliseconds plan{60'000};
  std::chrono::milliseconds run{30'000};
  std::chrono::milliseconds all_calls{90'000};  // of a case (case_budget.h)
  std::size_t host_memory_bytes = std::size_t{4} << 30;
  // On a GPU the judge watches it; the emulated device has it in host memory, beside the former.
  std::size_t device_memory_bytes = std::size_t{16} << 30;
  std::size_t output_bytes = std::size_t{256} << 10;
};

struct RunnerSpec {
  std::string label;  // for messages: the submission's id or the baseline's name
  std::filesystem::path executable;
  SandboxMode sandbox = SandboxMode::kBubblewrap;
  bool gpu = false;
  // Holds warpgrade-executor and the CUDA runtime of its host processes; empty: the program runs without one.
  std::filesystem::path executor;
  std::filesystem::path
      cuda_libraries;             // without one, holds libcudart.so.<major>: the emulator's, the toolkit's
  bool vendor_libraries = false;  // baselines: the whole folder instead of the CUDA runtime alone
  std::map<std::string, std::string> environment;
  RunnerLimits limits;
};

}  // namespace warpgrade
