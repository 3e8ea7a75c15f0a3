// submission.yaml: what a submission says of itself, read with suspicion.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/untrusted.h"

namespace warpgrade {

struct Manifest {
  std::optional<std::string> title;  // one printable line of at most 200 bytes
  std::vector<std::string> flags;    // extra compiler flags, each allowed
  std::vector<std::string>
      sources;  // the sources that are compiled, as it names them; empty: all that belong together
  std::optional<std::string> problem;
};

// Reads submission.yaml in the folder; an empty manifest where there is none. What is wrong with it is in
// `problem`: no plain file, larger than 64 KiB, not YAML, a flag that is not allowed. Never throws for
// its content.
Manifest read_manifest(const UntrustedFolder& folder);

inline constexpr std::size_t kMostManifestBytes = 64 << 10;

// Flags that change how a submission's own code is compiled, and nothing else. Nothing in them means anything
// to a shell, to nvcc's lists (a comma) or to its response files (@).
bool is_allowed_flag(const std::string& flag);

}  // namespace warpgrade
