// `warpgrade profile SUBMISSION --case C`: runs one case on the emulator and says where the work goes:
// counters a kernel, what is wrong with them, the source with figures beside its lines.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace warpgrade {

struct ProfileOptions {
  std::filesystem::path submission;
  std::string lab = "spmm";
  std::string test_case;
  bool whole_source = false;
  bool as_json = false;
  bool allow_unsandboxed = false;
  std::optional<std::filesystem::path> output;  // profile.md and profile.json are written there as well
};

int profile(const ProfileOptions& options);

}  // namespace warpgrade
