// What a layout's own file sees of an export, and what it offers to layout.cpp.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/ingest/layout.h"

namespace warpgrade {

// An entry of the class's archive that was not unpacked: its path below an ExportEntry, and why. An empty path
// is the entry itself.
struct RefusedPart {
  std::filesystem::path below;
  Refusal refusal;
};

// A file or folder at the top of the export; or one that is not there, since nothing of it was unpacked.
struct ExportEntry {
  std::filesystem::path path;
  std::string name;
  bool is_folder = false;
  std::vector<RefusedPart> refused = {};
};

struct Export {
  std::filesystem::path folder;
  std::vector<ExportEntry> entries;  // sorted, without hidden ones and links
  const LayoutOptions* options;
};

struct LayoutReader {
  const char* name;
  // By the names of the entries (and a look at what lies directly in them): it has this form. Null: never
  // recognized, only named.
  bool (*fits)(const Export&);
  // Names that this layout does not explain go to `left_aside`.
  std::vector<RawAttempt> (*read)(const Export&, std::vector<std::string>& left_aside);
};

extern const LayoutReader kGradescopeLayout, kCanvasLayout, kMoodleLayout, kBlackboardLayout,
    kBrightspaceLayout, kSakaiLayout, kIliasLayout, kAutolabLayout, kPrairieLearnLayout, kGitLayout,
    kGitBeforeLayout, kFolderLayout, kArchivesLayout;

// ---- for the readers

StudentKeys keyed(const std::string& key);

// Of a folder that cannot be read: none; taking its snapshot says why. Without hidden ones and links.
std::vector<std::filesystem::path> visible_in(const std::filesystem::path& folder);

// More than half of the entries: a stray file beside them is left aside and told.
template <typename Fits>
bool most(const std::vector<ExportEntry>& entries, const Fits& fits) {
  std::size_t count = 0;
  for (const ExportEntry& entry : entries) count += fits(entry) ? 1 : 0;
  return 2 * count > entries.size();
}

// Of several refused parts the first is told. A part of the folder `below` alone counts, where one is given.
void refuse_for(RawAttempt& attempt, const ExportEntry& entry, const std::filesystem::path& below = {});
// The entry as a file of the attempt, under the name that the student gave it.
void add_file(RawAttempt& attempt, const ExportEntry& entry, const std::string& name);

// Two people under one number: which of them handed in nobody can tell.
[[noreturn]] void refuse_shared_number(const std::string& number, const std::string& first,
                                       const std::string& second);

// A file that is read here as an archive, or one of a kind that is not: its student is told.
bool is_archive_name(const std::string& name);

}  // namespace warpgrade
