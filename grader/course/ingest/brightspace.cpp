// Brightspace's "Download all submissions": folders, or loose files, beside an index.html.
//
//   57006-96739 - Erik Dengler - May 6, 2020 231 PM/Lab1.zip
//   57006-96739 - Erik Dengler - May 6, 2020 231 PM - Lab1.zip
//
// The first number is the student's, the second one the assignment's. Brightspace's help does not describe
// the form; it was taken from what instructors' scripts in public repositories read.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <regex>
#include <set>

#include "base/error.h"
#include "course/ingest/layout_names.h"
#include "course/ingest/person_name.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

// Some systems write other spaces between the figures and AM or PM.
std::string with_plain_spaces(std::string text) {
  for (const char* space : {"\u00a0", "\u202f", "\u2009"})
    for (std::size_t at; (at = text.find(space)) != std::string::npos;)
      text.replace(at, std::string(space).size(), " ");
  return text;
}

// 1 to 12 of "Oct", "October" or "oct."; 0 of anything else.
int month_of(const std::string& word) {
  static constexpr std::array<std::string_view, 12> kMonths{"january",   "february", "march",    "april",
                                                            "may",       "june",     "july",     "august",
                                                            "september", "october",  "november", "december"};
  const std::string plain = folded(word.ends_with('.') ? word.substr(0, word.size() - 1) : word);
  for (std::size_t i = 0; i < kMonths.size(); ++i)
    if (plain.size() >= 3 && kMonths[i].starts_with(plain)) return static_cast<int>(i) + 1;
  return 0;
}

// "231 PM", "2:31 pm" and "1431" as hours and minutes; nullopt of what is no time of a day.
std::optional<std::pair<int, int>> clock_of(const std::string& hour_text, const std::string& minute_text,
                                            const std::string& half) {
  int hour = std::stoi(hour_text);
  const int minute = std::stoi(minute_text);
  if (minute > 59 || hour > 23) return std::nullopt;
  if (half.empty()) return std::pair(hour, minute);
  if (hour < 1 || hour > 12) return std::nullopt;
  return std::pair(hour % 12 + (half == "P" || half == "p" ? 12 : 0), minute);
}

// The time of "May 6, 2020 231 PM" or "6 May 2020 14:31", on the clocks of `zone`.
std::optional<std::int64_t> time_of(const std::string& date, const TimeZone& zone) {
  static const std::string kClock = R"(,? (\d{1,2})[:. ]?(\d\d)(?: ?([AaPp])\.?[Mm]\.?)?)";
  static const std::regex kMonthFirst(R"(([A-Za-z]+\.?) (\d{1,2}),? (\d{4}))" + kClock);
  static const std::regex kDayFirst(R"((\d{1,2})\.? ([A-Za-z]+\.?),? (\d{4}))" + kClock);
  std::smatch part;
  const bool month_first = std::regex_match(date, part, kMonthFirst);
  if (!month_first && !std::regex_match(date, part, kDayFirst)) return std::nullopt;
  const int month = month_of(part[month_first ? 1 : 2]), day = std::stoi(part[month_first ? 2 : 1]);
  const auto clock = clock_of(part[4], part[5], part[6]);
  if (month == 0 || !clock) return std::nullopt;
  return parse_time(
      fmt::format("{}-{:02}-{:02} {:02}:{:02}:00", part[3].str(), month, day, clock->first, clock->second),
      zone);
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
    const auto time = time_of(date, zone);
    if (!time || (!is_folder && found.file.empty())) continue;
    found.at = *time;
    return found;
  }
  return std::nullopt;
}

[[noreturn]] void refuse_name(const std::string& name) {
  throw UsageError(
      "{}: expected a name as Brightspace gives it, \"12345-678 - Ada Lovelace - Mar 18, 2026 1158 PM\", "
      "and, of "
      "a loose file, \" - \" and the file's own name behind it; the date is not understood. Download them "
      "again "
      "with English as your account's language, or rename this one. Nothing was kept.",
      name);
}

// People of one name are told apart by their numbers; which of them the roster means nobody can know.
std::set<std::string> names_of_several(const std::vector<std::pair<fs::path, Name>>& found) {
  std::map<std::string, std::set<std::string>> numbers;
  for (const auto& [entry, name] : found) numbers[name_key(name.person)].insert(name.number);
  std::set<std::string> several;
  for (const auto& [key, of_one_name] : numbers)
    if (of_one_name.size() > 1) several.insert(key);
  return several;
}

}  // namespace

bool is_brightspace_name(const std::string& name) {
  static const std::regex kForm(R"(\d{1,18}-\d{1,18} - .+ - .*\d.*)");
  return std::regex_match(name, kForm);
}

std::vector<RawAttempt> read_brightspace(const Entries& entries, const TimeZone& zone,
                                         std::vector<std::string>& left_aside) {
  std::vector<std::pair<fs::path, Name>> found;
  for (const fs::path& entry : entries) {
    const std::string name = entry.filename().string();
    if (name == kBrightspaceIndex) continue;
    if (!is_brightspace_name(name)) {
      left_aside.push_back(name);
      continue;
    }
    const auto parsed = parse_name(name, fs::is_directory(entry), zone);
    if (!parsed) refuse_name(name);
    found.emplace_back(entry, *parsed);
  }
  const std::set<std::string> several = names_of_several(found);
  std::vector<RawAttempt> attempts;
  std::map<std::pair<std::string, std::int64_t>, std::size_t> loose;  // by student and time
  for (const auto& [entry, name] : found) {
    RawAttempt attempt;
    const bool alone = !several.contains(name_key(name.person));
    const std::string key = alone ? name.person : fmt::format("{} ({})", name.person, name.number);
    attempt.owners.push_back({{key}, name.person, "", "", "", ""});
    attempt.origin = entry.filename().string();
    attempt.submitted_at = name.at;
    if (fs::is_directory(entry)) {
      attempt.folder = entry;
      attempts.push_back(std::move(attempt));
      continue;
    }
    const auto [place, is_new] = loose.emplace(std::pair(name.number, name.at), attempts.size());
    if (is_new) attempts.push_back(std::move(attempt));
    attempts[place->second].files.push_back({entry, name.file});
  }
  return attempts;
}

}  // namespace warpgrade
