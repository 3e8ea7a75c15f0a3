// From a repository to an attempt: which commit, and what is known of its time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "course/ingest/git_repository.h"
#include "course/ingest/layout.h"

namespace warpgrade {

// What all names begin with, up to its last '-': the assignment. One repository alone: up to its first '-'.
std::size_t assignment_length(const std::vector<std::string>& names);

// The attempt's time is the commit's. It is a claim, unless the repository was here (`seen_at`) before the
// deadline: then it was in time.
void claim_time(RawAttempt& attempt, const std::optional<Commit>& commit, std::int64_t seen_at,
                const LayoutOptions& options);

// Takes the files of a commit out of a bare repository of ours: of the one that is named, the last one before
// the deadline, or the branch's. Throws UsageError where a deadline is wanted and there is none.
void take_commit(RawAttempt& attempt, const std::filesystem::path& repository, bool before,
                 const std::string& name, std::int64_t seen_at, const LayoutOptions& options);

}  // namespace warpgrade
