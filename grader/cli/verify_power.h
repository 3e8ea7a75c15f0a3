// What a lab's check sees, looked at by `labs verify` in each shape with a speed case. What was found is kept beside the
// lab; a few seeds are tried each time.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cli/verify_progress.h"
#include "judge/declaration/lab_declaration.h"
#include "judge/sandbox/sandbox.h"

namespace warpgrade {

struct CheckPowerFound {
  std::string words;               // for the line of the check; empty: the lab has no speed case
  std::vector<std::string> weak;   // what the check does not see
  std::vector<std::string> notes;  // of what could not be kept
};

struct PowerSettings {
  std::function<std::filesystem::path(const std::string&)> graph_file;
  SandboxMode sandbox = SandboxMode::kBubblewrap;
  std::uint64_t seed = 0;
  int threads = 1;
};

CheckPowerFound look_at_power(const declaration::LabDeclaration& lab, const PowerSettings& settings,
                              VerifyProgress::Step& step);

}  // namespace warpgrade
