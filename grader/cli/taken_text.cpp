#include "cli/taken_text.h"

#include <fmt/ranges.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/tables.h"
#include "base/text.h"
#include "course/ingest/times.h"

namespace warpgrade {
using nlohmann::json;

namespace {

// Several hand-ins of one team without times: which is the last one is not known.
void warn_of_untimed_teams(const json& taken) {
  std::map<std::string, std::set<std::string>> handed_in;
  for (const json& attempt : taken.at("attempts"))
    if (attempt.contains("team") && !attempt.contains("submitted_at"))
      handed_in[attempt["team"]].insert(attempt.at("student").get<std::string>());
  if (taken.at("attempts_policy") == "best") return;
  for (const auto& [team, students] : handed_in) {
    if (students.size() > 1)
      fmt::print(
          "team {}: {} handed in, and the export has no times: the {} in order of names counts; "
          "--attempts best grades them all\n",
          team, fmt::join(students, ", "), taken["attempts_policy"].get<std::string>());
  }
}

std::string person_of(const json& taken, const std::string& id) {
  for (const json& student : taken.at("students"))
    if (student.at("id") == id && student.contains("name") && student["name"] != id)
      return plain_line(fmt::format("{} ({})", student["name"].get<std::string>(), id));
  return plain_line(id);
}

}  // namespace

void print_matched_names(const json& taken) {
  const TimeZone zone = TimeZone::named(taken.at("timezone"));
  std::vector<std::vector<std::string>> rows{{"hand-in", "attempt", "of", "handed in", ""}};
  std::set<std::string> handed_in;
  for (const json& attempt : taken.at("attempts")) {
    std::vector<std::string> people;
    for (const json& member : attempt.at("members")) people.push_back(person_of(taken, member));
    if (people.empty()) people.push_back(person_of(taken, attempt.at("student")));
    handed_in.insert(attempt.at("student"));
    for (const json& member : attempt.at("members")) handed_in.insert(member.get<std::string>());
    rows.push_back({plain_line(attempt.at("origin").get<std::string>()),
                    std::to_string(attempt.at("attempt").get<int>()),
                    fmt::format("{}", fmt::join(people, ", ")),
                    attempt.contains("submitted_at") ? zone.text(*parse_time(attempt["submitted_at"])) : "",
                    attempt.at("status") == "graded" ? "" : attempt.at("status").get<std::string>()});
  }
  fmt::print("{}", format_table(rows));
  std::vector<std::string> missing;
  for (const json& student : taken.at("students"))
    if (!handed_in.contains(student.at("id"))) missing.push_back(person_of(taken, student.at("id")));
  if (!missing.empty()) fmt::print("handed in nothing: {}\n", fmt::join(missing, ", "));
}

int print_taken(const json& taken, bool has_roster) {
  int graded = 0, refused = 0;
  for (const json& attempt : taken.at("attempts")) {
    graded += attempt.at("status") == "graded" ? 1 : 0;
    if (attempt.at("status") != "refused") continue;
    ++refused;
    fmt::print("refused {}: {}\n", attempt.at("origin").get<std::string>(),
               attempt["refusal"]["message"].get<std::string>());
  }
  for (const json& student : taken.at("students")) {
    if (!student.value("on_roster", true) && has_roster)
      fmt::print("not on the roster: {} ({})\n", student.value("name", student.at("id").get<std::string>()),
                 student.at("id").get<std::string>());
  }
  if (taken.contains("deadline"))
    fmt::print(
        "deadline: {}; other times are shown in the same zone ({}), which the policy's `timezone` names\n",
        TimeZone::named(taken["timezone"]).text(*parse_time(taken["deadline"])),
        taken["timezone"].get<std::string>());
  for (const json& name : taken.value("left_aside", json::array()))
    fmt::print("left out {}: in this layout it is not the hand-in of a student\n", name.get<std::string>());
  warn_of_untimed_teams(taken);
  fmt::print("{}: {} students, {} attempts, {} to grade, {} refused\n",
             taken["source"]["layout"].get<std::string>(), taken.at("students").size(),
             taken.at("attempts").size(), graded, refused);
  return graded;
}

}  // namespace warpgrade
