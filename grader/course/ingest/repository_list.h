// A list of repositories in place of an export: one address a line, or CSV with a header.
//
//   student,url[,commit][,pushed_at]
//
// `student` is an id, a login, an e-mail address or an account, as the roster has it; `commit` (also `branch`,
// `ref`) says what is judged; `pushed_at` is the platform's own time of the push, which counts for lateness.
#pragma once

#include <filesystem>

#include "course/ingest/layout.h"

namespace warpgrade {

// By its ending (.txt, .csv, .tsv, .urls), a file that is there.
bool is_repository_list(const std::filesystem::path& file);

// Fetches every repository, over https or ssh alone, and takes the commit that counts. One that cannot be
// fetched is refused, and its student told. Throws UsageError with file and line for an address of another kind.
Layout read_repository_list(const std::filesystem::path& file, const LayoutOptions& options);

}  // namespace warpgrade
