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
  // What the student says of this version: lines of at most 500 bytes. They are none of its
  // identity (Submission::hash).
  std::vector<std::string> notes;
  std::optional<std::string> problem;
};

// Reads submission.yaml in the folder; an empty manifest where there is none. What is wrong with it is in
// `problem`: no plain file, larger than 64 KiB, not YAML, a flag that is not allowed. Never throws for
// its content.
Manifest read_manifest(const UntrustedFolder& folder);

// Device code of several files that is linked, and kernels that launch kernels.
inline constexpr const char* kRelocatable = "-rdc=true";

inline constexpr std::size_t kMostManifestBytes = 64 << 10;
inline constexpr std::size_t kLongestNote = 500;

// Flags that change how a submission's own code is compiled, and nothing else. Nothing in them means anything
// to a shell, to nvcc's lists (a comma) or to its response files (@).
bool is_allowed_flag(const std::string& flag);
// Their kinds, for people: "-O0", ..., "-maxrregcount=N", "-DNAME=word".
const std::vector<std::string>& allowed_flags();
// The kind of a flag, in whatever spelling; "" of one that is not allowed.
std::string kind_of_flag(const std::string& flag);
// Why the judge does not take such a flag, and what to do instead; "" where the list says enough.
std::string instead_of_flag(const std::string& flag);

}  // namespace warpgrade
