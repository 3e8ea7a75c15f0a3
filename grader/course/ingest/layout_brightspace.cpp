// Brightspace's "Download all submissions": folders, or loose files, beside an index.html.
//
//   57006-96739 - Erik Dengler - May 6, 2020 231 PM/Lab1.zip
//   57006-96739 - Erik Dengler - May 6, 2020 231 PM - Lab1.zip
//
// The first number is the student's, the second one the assignment's. Brightspace is closed, and its help
// does not describe the form; it was taken from what instructors' scripts in public repositories read. The
// date is in the language of the instructor's account (localized_time.h), without the signs that file names
// do not have.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <regex>
#include <set>

#include "base/error.h"
#include "course/ingest/layout_reader.h"
#include "course/ingest/localized_time.h"
#include "course/ingest/person_name.h"

namespace warpgrade {

namespace brightspace_layout {
namespace {

// Some systems write other spaces between the figures and AM or PM.
std::string with_plain_spaces(std::string text) {
  for (const char* space : {"\u00a0", "\u202f", "\u2009"})
    for (std::size_t at; (at = text.find(space)) != std::string::npos;)
      text.replace(at, std::string(space).size(), " ");
  return text;
}

struct Name {
  std::string number;  // the student's
  std::string person;
  std::int64_t at = 0;
  std::string file;  // of a loose file, as the student called it
};

// Where a name has several parts that may be the date, the first that is one counts: what the student chose
// is behind it.
std::optional<Name> parse_name(const std::string& given, bool is_folder, const TimeZone& zone) {
  static const std::regex kNumbers(R"((\d{1,18})-\d{1,18} - (.+))");
  static const std::regex kEnding(R"((.+?)((?:\.tar)?\.[A-Za-z][A-Za-z0-9]*))");
  static const std::string kBetween = " - ";
  const std::string name = with_plain_spaces(given);
  std::smatch part;
  if (!std::regex_match(name, part, kNumbers)) return std::nullopt;
  const std::string rest = part[2];
  for (std::size_t at = rest.find(kBetween); at != std::string::npos; at = rest.find(kBetween, at + 1)) {
    const std::string behind = rest.substr(at + kBetween.size());
    Name found{part[1], rest.substr(0, at), 0, ""};
    const std::size_t next = behind.find(kBetween);
    std::string date = behind.substr(0, next);
    if (next != std::string::npos) found.file = behind.substr(next + kBetween.size());
    std::smatch ending;
    if (next == std::string::npos && !is_folder && std::regex_match(behind, ending, kEnding)) {
      date = ending[1];
      found.file = "hand-in" + ending[2].str();
    }
    const auto time = parse_localized_time(date, zone);
    if (!time || (!is_folder && found.file.empty())) continue;
    found.at = *time;
    return found;
  }
  return std::nullopt;
}

[[noreturn]] void refuse_name(const std::string& name) {
  throw UsageError(
      "{}: expected a name as Brightspace gives it, \"12345-678 - Ada Lovelace - Mar 18, 2026 1158 PM\", "
      "and, of a loose file, \" - \" and the file's own name behind it; the date is not understood. Download "
      "them again with {} as your account's language, or rename this one. Nothing was kept.",
      name, kLanguagesOfDates);
}

constexpr const char* kIndex = "index.html";  // Brightspace's own page

bool has_form(const std::string& name) {
  static const std::regex kForm(R"(\d{1,18}-\d{1,18} - .+ - .*\d.*)");
  return std::regex_match(name, kForm);
}

bool fits(const Export& given) {
  std::vector<ExportEntry> hand_ins;
  for (const ExportEntry& entry : given.entries)
    if (entry.name != kIndex) hand_ins.push_back(entry);
  return most(hand_ins, [](const ExportEntry& entry) { return has_form(entry.name); });
}

struct Found {
  const ExportEntry* entry;
  Name name;
};

std::vector<Found> names_in(const Export& from, std::vector<std::string>& left_aside) {
  std::vector<Found> found;
  std::map<std::string, Found> by_number;
  for (const ExportEntry& entry : from.entries) {
    if (entry.name == kIndex) continue;
    if (!has_form(entry.name)) {
      left_aside.push_back(entry.name);
      continue;
    }
    const auto name = parse_name(entry.name, entry.is_folder, from.options->zone);
    if (!name) refuse_name(entry.name);
    found.push_back({&entry, *name});
    const auto [before, is_new] = by_number.emplace(name->number, found.back());
    if (!is_new && name_key(before->second.name.person) != name_key(name->person))
      refuse_shared_number(name->number, before->second.entry->name, entry.name);
  }
  return found;
}

// People of one name are told apart by their numbers; which of them the roster means nobody can know.
std::set<std::string> names_of_several(const std::vector<Found>& found) {
  std::map<std::string, std::set<std::string>> numbers;
  for (const Found& one : found) numbers[name_key(one.name.person)].insert(one.name.number);
  std::set<std::string> several;
  for (const auto& [key, of_one_name] : numbers)
    if (of_one_name.size() > 1) several.insert(key);
  return several;
}

std::vector<RawAttempt> read(const Export& from, std::vector<std::string>& left_aside) {
  const std::vector<Found> found = names_in(from, left_aside);
  const std::set<std::string> several = names_of_several(found);
  std::vector<RawAttempt> attempts;
  std::map<std::pair<std::string, std::int64_t>, std::size_t> loose;  // by student and time
  for (const auto& [entry, name] : found) {
    RawAttempt attempt;
    const bool alone = !several.contains(name_key(name.person));
    StudentKeys owner = keyed(alone ? name.person : fmt::format("{} ({})", name.person, name.number));
    owner.name = name.person;
    owner.lms_id = name.number;
    attempt.owners.push_back(owner);
    attempt.origin = entry->name;
    attempt.submitted_at = name.at;
    if (entry->is_folder) {
      attempt.folder = entry->path;
      refuse_for(attempt, *entry);
      attempts.push_back(std::move(attempt));
      continue;
    }
    const auto [place, is_new] = loose.emplace(std::pair(name.number, name.at), attempts.size());
    if (is_new) attempts.push_back(std::move(attempt));
    add_file(attempts[place->second], *entry, name.file);
  }
  return attempts;
}

}  // namespace
}  // namespace brightspace_layout

const LayoutReader kBrightspaceLayout{"brightspace", brightspace_layout::fits, brightspace_layout::read};

}  // namespace warpgrade
