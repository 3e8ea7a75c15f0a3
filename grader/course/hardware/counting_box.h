// The box in which ncu runs a submission's program: it shows the program, the case's inputs, the student's
// source, ncu and the CUDA runtime, and a folder for the report. No network but its own loopback, no file of
// the judge, another host's name.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/toolchain.h"
#include "course/hardware/ncu.h"
#include "course/hardware/ncu_table.h"
#include "judge/compile/submission.h"
#include "judge/sandbox/sandbox.h"

namespace warpgrade::hardware {

struct CountingPlace {
  std::filesystem::path scratch, kept;  // kept: `program` and `calls` (judge/judging/tape_keeper.h)
  SandboxMode mode = SandboxMode::kBubblewrap;
  std::string visible;  // CUDA_VISIBLE_DEVICES
  bool gpu = true;      // else the program runs on the emulator, and ncu is a model
  std::chrono::milliseconds limit;
};

class CountingBox {
 public:
  CountingBox(CountingPlace place, const Submission& submission);

  // Runs the program under ncu; false: it did not end in time, and nothing of it runs any more. Throws
  // UsageError with ncu's or the program's words where there is no report.
  bool collect();
  // Of the report: its launches, what its page of the session says, its bytes.
  std::vector<LaunchRow> launches() const;
  std::string session() const;
  std::string report() const;

 private:
  SandboxSpec spec(bool gpu) const;
  ProcessResult run(std::vector<std::string> arguments, bool gpu, std::chrono::milliseconds limit) const;
  std::string known_metrics() const;
  std::string imported(const std::string& page) const;

  CountingPlace place_;
  Toolchain toolchain_;
  Ncu ncu_;
};

}  // namespace warpgrade::hardware
