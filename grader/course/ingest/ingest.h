// From an LMS's export to a class: attempts are unpacked, refused one by one where they are not safe, kept as
// read-only snapshots named by their content, given to their students and teams, and one of each is chosen.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "course/ingest/unpack.h"
#include "course/record/run_folder.h"
#include "judge/compile/submission.h"

namespace warpgrade {

// A class whose hand-ins arrive one after the other: each call takes in what is new since the last one. All
// attempts are judged, each under an id of its own that never changes, and `attempts` says which one counts.
struct RollingOptions {
  int attempts_per_day = 0;                // of a student or team, in the course's time zone; 0: no limit
  std::int64_t settle_s = 3;               // a hand-in is taken once nothing of it has changed for so long
  std::optional<std::int64_t> until = {};  // what arrives later is left alone; seconds since 1970
};

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
  std::optional<RollingOptions> rolling;
};

// Takes the class into the run folder: snapshots/ and submissions.json, the latter last, so that an
// interrupted call is simply repeated. Throws UsageError for what the caller can mend: no such folder, a bad
// roster, a time that is none, hand-ins and a roster that do not belong together (nothing is kept then). What
// a student did wrong is in the result.
nlohmann::json ingest(const IngestOptions& options, const RunFolder& folder);

// What is to change in a class that was taken in. All of it may come at any time: a class is what its
// hand-ins, its roster and its deadlines say together, and only what that touches is judged or scored again.
struct ClassChange {
  std::optional<std::filesystem::path> add;  // an export, a folder or an archive with more hand-ins
  std::map<std::string, std::filesystem::path> replace;  // by student: what the staff takes in their place
  std::map<std::string, std::string> extend;             // by student: a time, or "none"
  // By student, or of "all": the time of the hand-in is confirmed, as it is claimed or as the text says.
  std::map<std::string, std::string> confirm;
  std::optional<std::string>
      handed_in;  // the time of what is replaced; without it that of the attempt before
  std::optional<std::filesystem::path> roster;
  std::optional<std::string> deadline;  // a time, or "none"
  std::optional<std::string> attempts;  // last, first or best
  std::string author, reason;

  bool empty() const {
    return !add && replace.empty() && extend.empty() && confirm.empty() && !roster && !deadline && !attempts;
  }
};

// The class of the run folder as the change would leave it; only snapshots are written. `options` are those
// by which it was taken in. Throws UsageError for what the caller can mend: nobody of that name, a
// replacement that is refused, hand-ins of nobody on the roster.
nlohmann::json changed_class(const IngestOptions& options, const ClassChange& change,
                             const RunFolder& folder);
void write_class(const RunFolder& folder, const nlohmann::json& taken);

// A line of what differs between two states of a class, for people.
struct ClassDifference {
  std::string what;     // hand-in, late, number, team, counts, roster
  std::string id, who;  // whom it is about
  std::string before, after;
};
std::vector<ClassDifference> class_differences(const nlohmann::json& before, const nlohmann::json& after);

// Attempts of a class that were taken in by `now` and not by `before`.
std::vector<nlohmann::json> new_attempts(const nlohmann::json& before, const nlohmann::json& now);

// The submissions of an ingested class that are to be judged, with their facts for run.json.
std::vector<Submission> class_submissions(const RunFolder& folder, const std::string& lab);

}  // namespace warpgrade
