// From an LMS's export to a class: attempts are unpacked, refused one by one where they are not safe, kept as
// read-only snapshots named by their content, given to their students and teams, and one of each is chosen.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compile/submission.h"
#include "ingest/unpack.h"
#include "record/run_folder.h"

namespace warpgrade {

struct IngestOptions {
  std::filesystem::path source;                 // a folder or one archive of a whole class
  std::string layout = "auto";                  // see layout.h
  std::optional<std::filesystem::path> roster;  // CSV, see roster.h
  std::string attempts = "last";                // which one counts: last, first, best
  std::optional<std::string> deadline;          // a time, see times.h
  std::string timezone = "UTC";                 // of times that say none
  bool accept_unmatched = false;                // go on where most hand-ins are of nobody on the roster
  std::string lab;
  UnpackLimits limits;  // of one attempt
};

// Takes the class into the run folder: snapshots/ and submissions.json, the latter last, so that an
// interrupted call is simply repeated. Throws UsageError for what the caller can mend: no such folder, a bad
// roster, a time that is none, hand-ins and a roster that do not belong together (nothing is kept then). What
// a student did wrong is in the result.
nlohmann::json ingest(const IngestOptions& options, const RunFolder& folder);

// The submissions of an ingested class that are to be judged, with their facts for run.json.
std::vector<Submission> class_submissions(const RunFolder& folder, const std::string& lab);

}  // namespace warpgrade
