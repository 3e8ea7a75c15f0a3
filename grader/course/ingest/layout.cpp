#include "course/ingest/layout.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "course/ingest/layout_reader.h"
#include "course/ingest/repository_list.h"
#include "course/ingest/unpack.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostWrapping = 4;  // folders

constexpr std::array kReaders{
    &kFolderLayout,       &kArchivesLayout,   &kGradescopeLayout,  &kCanvasLayout, &kMoodleLayout,
    &kAutolabLayout,      &kBlackboardLayout, &kBrightspaceLayout, &kSakaiLayout,  &kIliasLayout,
    &kPrairieLearnLayout, &kGitLayout,        &kGitBeforeLayout,
};

bool is_hidden(const std::string& name) {
  return name.starts_with(".") || name == "__MACOSX";
}

// The parts of an archive's entry as it was named there, with either kind of slash.
std::vector<std::string> entry_parts(const std::string& entry) {
  std::vector<std::string> parts(1);
  for (const char c : entry) {
    if (c == '/' || c == '\\')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  std::erase_if(parts, [](const std::string& part) { return part == "."; });
  if (parts.size() > 1 && parts.back().empty()) parts.pop_back();  // a folder's own entry
  return parts;
}

// A path that leads nowhere below the export belongs to nobody.
bool leads_out(const std::vector<std::string>& parts) {
  return parts.empty() || parts[0].empty() || parts[0] == ".." ||
         (parts[0].size() == 2 && parts[0][1] == ':');
}

struct OpenExport {
  Export is;
  std::vector<std::string> of_nobody;  // refused entries in no place of the export
};

// `inside`: the folders around everything, which were taken off.
OpenExport open_export(const fs::path& folder, const std::vector<std::string>& inside,
                       const LayoutOptions& options) {
  OpenExport open{{folder, {}, &options}, {}};
  for (const fs::path& path : visible_in(folder))
    open.is.entries.push_back({path, path.filename().string(), fs::is_directory(path)});
  for (const Refusal& refusal : options.refused) {
    std::vector<std::string> parts = entry_parts(refusal.entry);
    if (leads_out(parts) || parts.size() <= inside.size() ||
        !std::equal(inside.begin(), inside.end(), parts.begin())) {
      open.of_nobody.push_back(refusal.entry);
      continue;
    }
    parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(inside.size()));
    if (is_hidden(parts[0])) continue;
    auto entry = std::find_if(open.is.entries.begin(), open.is.entries.end(),
                              [&](const ExportEntry& e) { return e.name == parts[0]; });
    if (entry == open.is.entries.end()) {
      open.is.entries.push_back({folder / parts[0], parts[0], parts.size() > 1});
      entry = open.is.entries.end() - 1;
    }
    fs::path below;
    for (std::size_t i = 1; i < parts.size(); ++i) below /= parts[i];
    entry->refused.push_back({below, refusal});
  }
  std::sort(open.is.entries.begin(), open.is.entries.end(),
            [](const ExportEntry& a, const ExportEntry& b) { return a.name < b.name; });
  return open;
}

const LayoutReader* named(const std::string& name) {
  for (const LayoutReader* reader : kReaders)
    if (name == reader->name || (name == "github" && reader == &kGitLayout)) return reader;
  throw UsageError("there is no layout '{}'; the layouts are: {}", name, layout_names());
}

// The layout of an LMS that the export has the form of, null for none: then it is folders or archives. Where
// a layout is named, only that one is looked for.
const LayoutReader* recognized(const Export& given) {
  std::vector<const LayoutReader*> fitting;
  const bool any = given.options->name == "auto";
  for (const LayoutReader* reader : kReaders)
    if (reader->fits != nullptr && (any || reader == named(given.options->name)) && reader->fits(given))
      fitting.push_back(reader);
  if (fitting.size() > 1)
    throw UsageError(
        "{} has the form of two layouts, {} and {}: --layout {} or --layout {} says which one it is",
        given.folder.string(), fitting[0]->name, fitting[1]->name, fitting[0]->name, fitting[1]->name);
  return fitting.empty() ? nullptr : fitting[0];
}

const LayoutReader& chosen(const Export& given) {
  if (given.options->name != "auto") return *named(given.options->name);
  if (const LayoutReader* reader = recognized(given)) return *reader;
  const auto packed = [](const ExportEntry& e) { return !e.is_folder && is_archive_name(e.name); };
  return std::any_of(given.entries.begin(), given.entries.end(), packed) ? kArchivesLayout : kFolderLayout;
}

// The folder around an export: the only one, but for what ILIAS adds, and an export by its contents.
std::optional<std::string> wrapping(const Export& outer) {
  if (outer.options->name == "folder") return std::nullopt;
  std::optional<std::string> only;
  for (const ExportEntry& entry : outer.entries) {
    if (!entry.is_folder || entry.name == "Feedback_files") continue;
    if (only) return std::nullopt;
    only = entry.name;
  }
  return only;
}

// Takes off the folders around everything: a platform, or a person, packed the export with them. What lies
// beside them (ILIAS' table) is told like any stray file.
OpenExport without_wrapping(const fs::path& folder, const LayoutOptions& options) {
  const OpenExport whole = open_export(folder, {}, options);
  OpenExport outer = whole;
  std::vector<std::string> inside, beside;
  while (inside.size() < kMostWrapping && recognized(outer.is) == nullptr) {
    const auto next = wrapping(outer.is);
    if (!next) return whole;
    for (const ExportEntry& entry : outer.is.entries)
      if (entry.name != *next) beside.push_back(entry.name);
    inside.push_back(*next);
    outer = open_export(outer.is.folder / *next, inside, options);
  }
  if (inside.empty() || outer.is.entries.empty() || recognized(outer.is) == nullptr) return whole;
  outer.of_nobody.insert(outer.of_nobody.end(), beside.begin(), beside.end());
  return outer;
}

// Moodle's grading worksheet, given as the roster, knows when each hand-in was last changed.
void add_times_of_roster(std::vector<RawAttempt>& attempts, const Roster& roster) {
  for (RawAttempt& attempt : attempts) {
    if (attempt.submitted_at || attempt.owners.empty()) continue;
    if (const auto student = roster.find(attempt.owners[0]))
      attempt.submitted_at = roster.students()[*student].submitted_at;
  }
}

[[noreturn]] void refuse_empty(const fs::path& source, const std::string& lab) {
  throw UsageError(
      "{} holds no submission: expected a sub-folder or an archive for each student with {}.cu in it, or an "
      "LMS's bulk export",
      source.string(), lab);
}

}  // namespace

std::string layout_names() {
  std::vector<std::string> names{"auto"};
  for (const LayoutReader* reader : kReaders) names.emplace_back(reader->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Layout read_layout(const fs::path& source, const LayoutOptions& options) {
  if (is_repository_list(source)) return read_repository_list(source, options);
  const OpenExport open = without_wrapping(source, options);
  const LayoutReader& reader = chosen(open.is);
  Layout layout{reader.name, {}, open.of_nobody};
  layout.attempts = reader.read(open.is, layout.left_aside);
  if (&reader == &kMoodleLayout && options.roster != nullptr)
    add_times_of_roster(layout.attempts, *options.roster);
  if (layout.attempts.empty()) refuse_empty(source, options.lab);
  return layout;
}

// ---- for the readers

StudentKeys keyed(const std::string& key) {
  StudentKeys keys;
  keys.keys = {key};
  return keys;
}

std::vector<fs::path> visible_in(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (!is_hidden(entry.path().filename().string()) && !entry.is_symlink()) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

void refuse_for(RawAttempt& attempt, const ExportEntry& entry, const fs::path& below) {
  for (const RefusedPart& part : entry.refused) {
    const bool meant = below.empty() || (!part.below.empty() && *part.below.begin() == below);
    if (meant && !attempt.refusal) attempt.refusal = part.refusal;
  }
}

void add_file(RawAttempt& attempt, const ExportEntry& entry, const std::string& name) {
  refuse_for(attempt, entry);
  if (entry.refused.empty()) attempt.files.push_back({entry.path, name});
}

void refuse_shared_number(const std::string& number, const std::string& first, const std::string& second) {
  throw UsageError(
      "the number {} is of two people: {} and {}. Rename the one that is wrong, or put the hand-ins into "
      "folders with the students' ids as names and give --layout folder. Nothing was kept.",
      number, first, second);
}

bool is_archive_name(const std::string& name) {
  return looks_like_archive(name) || looks_like_foreign_archive(name);
}

}  // namespace warpgrade
