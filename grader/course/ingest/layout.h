// How an LMS lays out a class's hand-ins, read into one form: attempts with their owners. Each layout has a
// file of its own (layout_<name>.cpp), whose first lines say from which source its form was taken;
// layout.cpp has the table of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "course/ingest/refusal.h"
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
  bool time_is_claimed = false;              // by a commit, which its author dates as he likes
  bool late_marked = false;
  int number = 0;                  // as the export counts; 0 when it does not
  std::string origin;              // relative to the export
  std::filesystem::path folder;    // either a folder
  std::vector<RawFile> files;      // or files, archives among them
  std::optional<Refusal> refusal;  // it is not taken: something of it was not unpacked, or not fetched
};

struct Layout {
  std::string name;
  std::vector<RawAttempt> attempts;
  std::vector<std::string> left_aside;  // names in the export that this layout does not explain
};

struct LayoutOptions {
  std::string name = "auto";
  std::string lab;
  TimeZone zone = {};              // of times that say none
  const Roster* roster = nullptr;  // tells readings of a name apart; Moodle's worksheet has the times
  std::optional<std::int64_t> deadline = {};  // of those who have no extension in the roster
  // Entries of the class's archive that were not unpacked: each belongs to the attempt in whose place it lies,
  // by the parts of its path, and makes one where nothing else of it is there.
  std::vector<Refusal> refused = {};
  std::filesystem::path scratch = {};  // where what is fetched or taken out of a repository may lie
};

// Reads the export: an unpacked folder, or a list of repositories. Throws UsageError: no such layout, an export
// that two layouts fit, nothing in it, metadata that cannot be read, one number of two people.
Layout read_layout(const std::filesystem::path& source, const LayoutOptions& options);

// The names of all layouts, for an option's help: "auto, folder, ...".
std::string layout_names();

}  // namespace warpgrade
