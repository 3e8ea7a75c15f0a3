// ILIAS' download of an exercise's assignment.
//
//   <assignment>/<Submissions>/<last>_<first>_<login>_<user id>/<file>...
//   .../Team <number>/<last>_<first>_<login>_<user id>/<file>...     the hand-in is the team's: all of these
//
// From components/ILIAS/Exercise of ILIAS-eLearning/ILIAS: Submission/SubmissionManager.php
// (copySubmissionFilesToDir, getDirectoryNameFromUserData) and
// BackgroundTasks/classes/class.ilExerciseManagementCollectFilesJob.php, which puts a table <assignment>.xlsx
// beside it. All names are ASCII: letters with accents lost them, and other scripts are gone. The words for
// "Submissions" and "Team" are in the language of the account. A late file has "<words for late> - " in front
// (exc_late_submission): English and German are known here. There are no times but in the table.
//
// Where the login begins cannot be told from the name: the roster decides (roster.h), by login and name.
#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <set>

#include "course/ingest/layout_reader.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace ilias_layout {
namespace {

constexpr std::array<std::string_view, 3> kLate{"Late Submission - ", "Verspaetete Abgabe - ",
                                                "Verspatete Abgabe - "};

const std::regex& person_form() {
  static const std::regex form(R"(([^_]*)_(.+)_(\d{1,10}))");
  return form;
}

const std::regex& team_form() {
  static const std::regex form(R"([^_\d]+ \d{1,10})");
  return form;
}

std::optional<StudentKeys> person_of(const std::string& folder) {
  std::smatch part;
  if (!std::regex_match(folder, part, person_form())) return std::nullopt;
  const std::string rest = part[2];
  if (rest.find('_') == std::string::npos) return std::nullopt;
  StudentKeys owner;
  owner.lms_id = part[3];
  for (std::size_t at = rest.find('_'); at != std::string::npos; at = rest.find('_', at + 1)) {
    std::string name = rest.substr(0, at) + " " + part[1].str();
    std::replace(name.begin(), name.end(), '_', ' ');
    owner.readings.push_back({rest.substr(at + 1), name});
  }
  owner.keys = {owner.readings[0].key};  // neither name has a '_', mostly
  owner.name = owner.readings[0].name;
  return owner;
}

bool is_person(const ExportEntry& entry) {
  return entry.is_folder && person_of(entry.name).has_value();
}

bool is_team(const ExportEntry& entry) {
  if (!entry.is_folder || !std::regex_match(entry.name, team_form())) return false;
  const std::vector<fs::path> members = visible_in(entry.path);
  return !members.empty() && std::all_of(members.begin(), members.end(), [](const fs::path& path) {
    return fs::is_directory(path) && person_of(path.filename().string()).has_value();
  });
}

// A folder that a student named lab_week_3 has the form too: of an export the last names and the numbers differ.
bool fits(const Export& given) {
  std::set<std::string> first_parts, numbers;
  std::size_t people = 0;
  for (const ExportEntry& entry : given.entries) {
    if (!is_person(entry)) continue;
    ++people;
    first_parts.insert(entry.name.substr(0, entry.name.find('_')));
    numbers.insert(entry.name.substr(entry.name.rfind('_') + 1));
  }
  if (given.options->name == "ilias" && people > 0) return true;
  const bool differ = numbers.size() == people && (first_parts.size() > 1 || people < 2);
  return (people > 1 && differ && most(given.entries, is_person)) || most(given.entries, is_team);
}

void add_files(RawAttempt& attempt, const fs::path& folder) {
  for (const fs::path& path : visible_in(folder)) {
    if (fs::is_directory(path)) continue;  // ILIAS makes none
    std::string name = path.filename().string();
    for (const std::string_view words : kLate) {
      if (!name.starts_with(words)) continue;
      name.erase(0, words.size());
      attempt.late_marked = true;
    }
    attempt.files.push_back({path, name});
  }
}

RawAttempt team_attempt(const ExportEntry& entry) {
  RawAttempt attempt;
  attempt.team = entry.name;
  attempt.origin = entry.name;
  refuse_for(attempt, entry);
  for (const fs::path& member : visible_in(entry.path)) {
    const auto owner = person_of(member.filename().string());
    if (!owner) continue;
    attempt.owners.push_back(*owner);
    add_files(attempt, member);
  }
  return attempt;
}

std::vector<RawAttempt> read(const Export& from, std::vector<std::string>& left_aside) {
  std::vector<RawAttempt> attempts;
  std::map<std::string, std::string> folders;  // by user id
  for (const ExportEntry& entry : from.entries) {
    const auto owner = entry.is_folder ? person_of(entry.name) : std::nullopt;
    if (owner) {
      const auto [before, is_new] = folders.emplace(owner->lms_id, entry.name);
      if (!is_new) refuse_shared_number(owner->lms_id, before->second, entry.name);
      RawAttempt attempt;
      attempt.owners.push_back(*owner);
      attempt.origin = entry.name;
      refuse_for(attempt, entry);
      add_files(attempt, entry.path);
      if (attempt.files.empty()) attempt.folder = entry.path;
      attempts.push_back(std::move(attempt));
    } else if (is_team(entry)) {
      attempts.push_back(team_attempt(entry));
    } else {
      left_aside.push_back(entry.name);
    }
  }
  return attempts;
}

}  // namespace
}  // namespace ilias_layout

const LayoutReader kIliasLayout{"ilias", ilias_layout::fits, ilias_layout::read};

}  // namespace warpgrade
