#include "cli/intake_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/say.h"
#include "base/tables.h"
#include "base/text.h"
#include "course/ingest/ingest.h"
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
      tell(
          "team {}: {} handed in, and the export has no times: the {} in order of names counts; --attempts "
          "best grades them all\n",
          team, fmt::join(students, ", "), taken["attempts_policy"].get<std::string>());
  }
}

std::string person_of(const json& taken, const std::string& id) {
  for (const json& student : taken.at("students"))
    if (student.at("id") == id && student.contains("name") && student["name"] != id)
      return plain_line(fmt::format("{} ({})", student["name"].get<std::string>(), id));
  return plain_line(id);
}

// By id in run.json: the files that are compiled, or why there are none.
std::map<std::string, std::string> judged_files(const RunFolder& folder, const std::string& lab) {
  constexpr std::size_t kMostNamed = 4;
  std::map<std::string, std::string> files;
  for (const Submission& submission : class_submissions(folder, lab)) {
    std::vector<std::string> names;
    for (const auto& file : submission.files)
      if (names.size() < kMostNamed) names.push_back(plain_line(file.string()));
    std::string text = fmt::format("{}", fmt::join(names, ", "));
    if (submission.files.size() > kMostNamed)
      text += fmt::format(" and {} more", submission.files.size() - kMostNamed);
    files[submission.id] = submission.problem ? plain_line(*submission.problem) : text;
  }
  return files;
}

std::string time_of(const json& attempt, const TimeZone& zone) {
  if (!attempt.contains("submitted_at")) return attempt.value("late_marked", false) ? "marked late" : "";
  const std::string text = zone.text(*parse_time(attempt["submitted_at"]));
  return attempt.value("time_is_claimed", false) ? text + " (claimed)" : text;
}

// A line a hand-in, with its people, time and files, then who handed in nothing.
void print_table(const json& taken, const std::map<std::string, std::string>& files) {
  const TimeZone zone = TimeZone::named(taken.at("timezone"));
  std::vector<std::vector<std::string>> rows{{"hand-in", "attempt", "of", "handed in", "", "what is judged"}};
  std::set<std::string> handed_in;
  for (const json& attempt : taken.at("attempts")) {
    std::vector<std::string> people;
    for (const json& member : attempt.at("members")) people.push_back(person_of(taken, member));
    if (people.empty()) people.push_back(person_of(taken, attempt.at("student")));
    handed_in.insert(attempt.at("student"));
    for (const json& member : attempt.at("members")) handed_in.insert(member.get<std::string>());
    const auto judged = files.find(attempt.value("submission", ""));
    rows.push_back({plain_line(attempt.at("origin").get<std::string>()),
                    std::to_string(attempt.at("attempt").get<int>()),
                    fmt::format("{}", fmt::join(people, ", ")), time_of(attempt, zone),
                    attempt.at("status") == "graded" ? "" : attempt.at("status").get<std::string>(),
                    judged == files.end() ? "" : judged->second});
  }
  tell("{}", format_table(rows));
  std::vector<std::string> missing;
  for (const json& student : taken.at("students"))
    if (!handed_in.contains(student.at("id"))) missing.push_back(person_of(taken, student.at("id")));
  if (!missing.empty()) tell("handed in nothing: {}\n", fmt::join(missing, ", "));
}

}  // namespace

int print_class(const RunFolder& folder, const json& taken, const std::string& lab, bool table) {
  if (table) print_table(taken, judged_files(folder, lab));
  const bool has_roster = std::any_of(taken.at("students").begin(), taken.at("students").end(),
                                      [](const json& student) { return student.value("on_roster", true); });
  int graded = 0, refused = 0;
  for (const json& attempt : taken.at("attempts")) {
    graded += attempt.at("status") == "graded" ? 1 : 0;
    if (attempt.at("status") != "refused") continue;
    ++refused;
    tell("refused {}: {}\n", attempt.at("origin").get<std::string>(),
         attempt["refusal"]["message"].get<std::string>());
  }
  for (const json& student : taken.at("students")) {
    if (!student.value("on_roster", true) && has_roster)
      tell("not on the roster: {} ({})\n", student.value("name", student.at("id").get<std::string>()),
           student.at("id").get<std::string>());
  }
  if (taken.contains("deadline"))
    tell("deadline: {}; other times are shown in the same zone ({}), which the policy's `timezone` names\n",
         TimeZone::named(taken["timezone"]).text(*parse_time(taken["deadline"])),
         taken["timezone"].get<std::string>());
  const auto claimed =
      std::count_if(taken.at("attempts").begin(), taken.at("attempts").end(), [](const json& attempt) {
        return attempt.value("time_is_claimed", false) && attempt.contains("submission");
      });
  if (claimed > 0)
    tell("{} hand-ins have the time that their commit claims: a person has to confirm it\n", claimed);
  for (const json& name : taken.value("left_aside", json::array()))
    tell("left out {}: in this layout it is not the hand-in of a student\n", name.get<std::string>());
  for (const json& question : taken.value("questions", json::array()))
    tell("not decided: {}\n", plain_line(question.get<std::string>()));
  warn_of_untimed_teams(taken);
  tell("{}: {} students, {} attempts, {} to grade, {} refused\n",
       taken["source"]["layout"].get<std::string>(), taken.at("students").size(), taken.at("attempts").size(),
       graded, refused);
  return graded;
}

}  // namespace warpgrade
