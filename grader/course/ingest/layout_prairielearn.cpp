// PrairieLearn's downloads of an assessment's files: ..._final_files.zip, ..._best_files.zip, ..._all_files.zip,
// and ..._files_for_manual_grading.zip.
//
//   <assessment>/<uid or group>_<instance>_<question>_<variant>_<submission>_<submission id>_<file>
//   <assessment>/<uid>_<uin>_<question>_<submission id>_<file>     for manual grading; of groups <group>_<question>_...
//
// From apps/prairielearn/src/pages/instructorAssessmentDownloads/instructorAssessmentDownloads.tsx of
// PrairieLearn/PrairieLearn (extractFilesForSubmissions, extractFilesForManualGrading). A uid is an e-mail
// address. A question's name with '/' makes folders, which PrairieLearn knows of and leaves so. There are no
// times; the submissions' numbers grow with time.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "base/error.h"
#include "course/ingest/layout_reader.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace prairielearn_layout {
namespace {

struct Name {
  std::string person, question, file;
  long long submission = 0;
};

std::optional<Name> name_of(const std::string& given) {
  static const std::regex kForm(R"((.+?@[^_@/]+|[^/]+?)_\d{1,6}_(.+?)_\d{1,6}_\d{1,6}_(\d{1,15})_([^/]+))");
  std::smatch part;
  if (!std::regex_match(given, part, kForm)) return std::nullopt;
  return Name{part[1], part[2], part[4], std::stoll(part[3])};
}

std::optional<Name> manual_name(const std::string& given) {
  static const std::regex kForm(R"((.+?@[^_@/]+)_([^_]*)_(.+?)_(\d{1,15})_([^/]+))");
  std::smatch part;
  if (!std::regex_match(given, part, kForm)) return std::nullopt;
  return Name{part[1], part[3], part[5], std::stoll(part[4])};
}

struct Found {
  ExportEntry entry;
  Name name;
};

// The files below an entry, with the path from the top as their name: the question's name may have made folders.
std::vector<ExportEntry> files_of(const ExportEntry& top) {
  static const std::regex kBegun(R"(.+_\d{1,6}_.+|.+@.+)");
  if (!top.is_folder || !std::regex_match(top.name, kBegun)) return {top};
  std::vector<ExportEntry> files;
  for (const fs::path& path : visible_in(top.path))
    for (const ExportEntry& file :
         files_of({path, top.name + "/" + path.filename().string(), fs::is_directory(path)}))
      files.push_back(file);
  for (const RefusedPart& part : top.refused)
    files.push_back({top.path, top.name + "/" + part.below.string(), false, {part}});
  return files;
}

std::vector<Found> found_in(const Export& given, std::vector<std::string>* left_aside) {
  std::vector<ExportEntry> files;
  for (const ExportEntry& entry : given.entries)
    for (const ExportEntry& file : files_of(entry)) files.push_back(file);
  const bool usual = most(files, [](const ExportEntry& file) { return name_of(file.name).has_value(); });
  std::vector<Found> found;
  for (const ExportEntry& file : files) {
    const auto name = usual ? name_of(file.name) : manual_name(file.name);
    if (name)
      found.push_back({file, *name});
    else if (left_aside != nullptr)
      left_aside->push_back(file.name);
  }
  if (left_aside == nullptr && 2 * found.size() <= files.size()) found.clear();
  return found;
}

bool fits(const Export& given) {
  const std::vector<Found> found = found_in(given, nullptr);
  const bool usual = std::any_of(found.begin(), found.end(),
                                 [](const Found& one) { return name_of(one.entry.name).has_value(); });
  return usual || (!found.empty() && given.options->name == "prairielearn");
}

void refuse_several_questions(const std::vector<Found>& found) {
  std::set<std::string> questions;
  for (const Found& one : found) questions.insert(one.name.question);
  if (questions.size() > 1)
    throw UsageError(
        "the export holds hand-ins to several questions, {} and {}: keep the files of one question in the "
        "folder, and give a run to each. Nothing was kept.",
        *questions.begin(), *questions.rbegin());
}

std::vector<RawAttempt> read(const Export& from, std::vector<std::string>& left_aside) {
  const std::vector<Found> found = found_in(from, &left_aside);
  refuse_several_questions(found);
  std::map<std::string, std::map<long long, RawAttempt>> people;
  for (const Found& one : found) {
    RawAttempt& attempt = people[one.name.person][one.name.submission];
    if (attempt.owners.empty()) {
      StudentKeys owner = keyed(one.name.person);
      if (one.name.person.find('@') != std::string::npos) {
        owner.email = one.name.person;
        owner.keys.push_back(one.name.person.substr(0, one.name.person.find('@')));
      }
      attempt.owners.push_back(owner);
      attempt.origin = one.entry.name;
    }
    add_file(attempt, one.entry, one.name.file);
  }
  std::vector<RawAttempt> attempts;
  for (auto& [person, submissions] : people) {
    int number = 0;
    for (auto& [id, attempt] : submissions) {
      attempt.number = ++number;
      attempts.push_back(std::move(attempt));
    }
  }
  return attempts;
}

}  // namespace
}  // namespace prairielearn_layout

const LayoutReader kPrairieLearnLayout{"prairielearn", prairielearn_layout::fits, prairielearn_layout::read};

}  // namespace warpgrade
