// How an LMS lays out a class's hand-ins, read into one form: attempts with their owners.
//
//   folder      <student>/...; several attempts: <student>/attempt-1/, attempt-2/, ...
//   archives    <student>.zip, <student>.tar.gz, also among such folders
//   gradescope  submission_metadata.yml beside submission_<id>/ folders ("export submissions")
//   canvas      <lastfirst>[_LATE]_<user>_<submission>_<file>: loose files ("download submissions")
//   autolab     <email>_<version>_<file>
//   moodle      <full name>_<participant>_assignsubmission_file_/..., also without the suffix, also loose
//               files ("download all submissions")
//   blackboard  <assignment>_<user>_attempt_<time>_<file>: loose files, and a .txt that tells of each attempt
//   brightspace <user>-<folder> - <name> - <time>/..., or loose files <the same> - <file> ("download all
//               submissions")
//   github      a folder of clones <assignment>-<account>/, each with its .git (`gh classroom clone`)
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "course/ingest/roster.h"
#include "course/ingest/times.h"

namespace warpgrade {

// A file of an attempt and the name the student gave it.
struct RawFile {
  std::filesystem::path path;
  std::string name;
};

struct RawAttempt {
  std::vector<StudentKeys> owners;  // one, or a team's members
  std::string team;
  std::optional<std::int64_t> submitted_at;  // seconds since 1970
  bool late_marked = false;
  int number = 0;                // as the export counts; 0 when it does not
  std::string origin;            // relative to the export
  std::filesystem::path folder;  // either a folder
  std::vector<RawFile> files;    // or files, archives among them
};

struct Layout {
  std::string name;
  std::vector<RawAttempt> attempts;
  std::vector<std::string> left_aside;  // names in the export that this layout does not explain
};

// Reads the export, an unpacked folder. `name` is one of the above or "auto"; times without a zone are of
// `zone`. Throws UsageError: no such layout, nothing in it, metadata that cannot be read.
Layout read_layout(const std::filesystem::path& folder, const std::string& name, const std::string& lab,
                   const TimeZone& zone = {});

}  // namespace warpgrade
