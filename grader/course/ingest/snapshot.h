// One attempt's files, kept in the run folder under the hash of their names and contents.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "course/ingest/layout.h"
#include "course/ingest/refusal.h"
#include "course/ingest/unpack.h"

namespace warpgrade {

struct Snapshot {
  std::string hash;  // SHA-256, shortened to 32 hexadecimal digits: the folder's name
  std::filesystem::path folder;
  std::size_t files = 0;
  std::uint64_t bytes = 0;
  // What taking in changed, a sentence each, for the student. What the reading as sources changes stands in
  // Submission::notes: a snapshot keeps the student's own bytes (judge/compile/tidied_sources.h).
  std::vector<std::string> notes = {};
};

// Unpacks or copies the attempt into `snapshots`, read-only; a folder around everything is taken off, hidden
// files are left out. Equal contents share one folder. Throws UsageError when the disk is full.
std::variant<Snapshot, Refusal> take_snapshot(const RawAttempt& attempt,
                                              const std::filesystem::path& snapshots,
                                              const UnpackLimits& limits);

// What an ingest that was killed left half-made; nobody else takes this class in meanwhile.
void remove_staged(const std::filesystem::path& snapshots);

// The hash over names and contents of a folder, as take_snapshot() gives it.
std::string snapshot_hash(const std::filesystem::path& folder);

}  // namespace warpgrade
