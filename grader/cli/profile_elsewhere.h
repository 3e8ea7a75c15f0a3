// `warpgrade profile` on a GPU: on this machine's (--hardware) or on the course's (--remote).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace warpgrade {

struct ElsewhereOptions {
  std::filesystem::path submission;
  std::string lab, test_case, remote;
  std::optional<std::filesystem::path> policy, output;
  bool as_json = false, allow_unsandboxed = false;
};

// The exit code. Throws UsageError where this machine cannot count.
int profile_on_hardware(const ElsewhereOptions& options);

// The same, asked of a desk. Nothing: it gives no counters, which was told; the emulator's profile
// does instead.
std::optional<int> profile_remotely(const ElsewhereOptions& options);

}  // namespace warpgrade
