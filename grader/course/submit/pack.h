// Packs one submission for handing in: its sources and a manifest, as a .tar.gz that is the same byte for
// byte whenever the sources are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "judge/compile/submission.h"

namespace warpgrade {

struct PackedSubmission {
  std::filesystem::path archive;
  std::string hash;                             // of names and contents, the one that records carry
  std::vector<std::filesystem::path> files;     // packed
  std::vector<std::filesystem::path> left_out;  // in the folder, but no source: not judged, not packed
  size_t bytes = 0;                             // of the archive
};

// Writes `archive` (replacing it) with everything under one folder named after the lab; manifest.json
// in it lists the files with their SHA-256 (grader/course/record/README.md, warpgrade.archive.v1).
// Throws UsageError for a submission that can't be judged (no source, too large, a symbolic link), and
// writes nothing then.
PackedSubmission pack_submission(const Submission& submission, const std::string& lab,
                                 const std::filesystem::path& archive);

}  // namespace warpgrade
