// A submission's counters on a GPU: the emulator judges the case and keeps its inputs, then the same program
// runs natively under ncu in a box, with these inputs alone. Nothing of it is a verdict, a record or points.
#pragma once

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "course/hardware/ncu.h"

namespace warpgrade::hardware {

struct HardwareOptions {
  std::filesystem::path submission;  // its folder
  std::string lab, test_case;        // one case's id
  std::optional<std::filesystem::path> policy;
  std::string gpu;                           // as CUDA_VISIBLE_DEVICES names it; empty: the first
  std::chrono::milliseconds limit{120'000};  // of ncu's run
  bool allow_unsandboxed = false;
};

struct HardwareProfile {
  nlohmann::json summary;  // schema warpgrade.hardware.v1 (course/record/README.md)
  std::string text;        // the same for a terminal
  std::string report;      // the bytes of the .ncu-rep; empty: there is none
  std::string no_report;   // why not, in a sentence
};

// Why this machine cannot count, with what to do about it, in a sentence; "": it can.
std::string refusal();

// Into a folder: hardware.json, the same as hardware.md and index.html, and profile.ncu-rep where there
// is one.
void write_profile(const HardwareProfile& profile, const std::filesystem::path& folder);

// Throws UsageError with what is wrong with submission or case (the emulator found a mistake, the program
// failed under ncu), GpuWedged where the GPU does not answer afterwards, and as `grade` does.
HardwareProfile hardware_profile(const HardwareOptions& options);

}  // namespace warpgrade::hardware
