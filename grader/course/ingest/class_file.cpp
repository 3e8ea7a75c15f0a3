#include "course/ingest/class_file.h"

#include <algorithm>
#include <ctime>

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// A team has the latest of its members' extensions.
std::optional<std::int64_t> deadline_of(const ClassInProgress& taken, const Group& group) {
  std::optional<std::int64_t> extended;
  for (std::size_t member : group.members) {
    const auto& own = taken.roster.students()[member].deadline;
    if (own && (!extended || *own > *extended)) extended = own;
  }
  return extended ? extended : taken.deadline;
}

json attempt_json(const ClassInProgress& taken, const Group& group, const Attempt& attempt) {
  const auto& students = taken.roster.students();
  json members = json::array();
  for (std::size_t member : group.members) members.push_back(students[member].id);
  json result{{"student", students[attempt.student].id},
              {"members", members},
              {"attempt", attempt.number},
              {"origin", attempt.raw.origin},
              {"status", attempt.status}};
  if (!group.team.empty()) result["team"] = group.team;
  if (attempt.arrived_at) result["arrived_at"] = format_time(*attempt.arrived_at);
  if (const auto time = attempt.time()) {
    result["submitted_at"] = format_time(*time);
    if (const auto deadline = deadline_of(taken, group))
      result["late_s"] = std::max<std::int64_t>(0, *time - *deadline);
  }
  if (attempt.raw.late_marked) result["late_marked"] = true;
  if (!attempt.submission.empty()) result["submission"] = attempt.submission;
  if (attempt.snapshot) {
    result["snapshot"] = "snapshots/" + attempt.snapshot->hash;
    result["hash"] = attempt.snapshot->hash;
    result["bytes"] = attempt.snapshot->bytes;
    result["files"] = attempt.snapshot->files;
  }
  if (attempt.refusal) result["refusal"] = attempt.refusal->to_json();
  return result;
}

StudentKeys keys_of(const json& student) {
  StudentKeys keys;
  keys.keys = {student.at("id")};
  keys.name = student.value("name", "");
  keys.email = student.value("email", "");
  keys.canvas_id = student.value("canvas_id", "");
  keys.moodle_id = student.value("moodle_id", "");
  keys.github = student.value("github", "");
  return keys;
}

std::size_t student_of_id(Roster& roster, const std::string& id) {
  const auto& students = roster.students();
  const auto found = std::find_if(students.begin(), students.end(),
                                  [&](const Student& student) { return student.id == id; });
  if (found != students.end()) return static_cast<std::size_t>(found - students.begin());
  return roster.find_or_add(StudentKeys{{id}, "", "", "", "", ""});
}

Attempt restored(const json& recorded, const RunFolder& folder, Roster& roster) {
  Attempt attempt;
  attempt.student = student_of_id(roster, recorded.at("student"));
  attempt.number = recorded.at("attempt");
  attempt.raw.number = attempt.number;
  attempt.raw.origin = recorded.at("origin");
  attempt.raw.late_marked = recorded.value("late_marked", false);
  attempt.submission = recorded.value("submission", "");
  if (recorded.contains("arrived_at")) attempt.arrived_at = parse_time(recorded.at("arrived_at"));
  if (recorded.contains("submitted_at")) attempt.raw.submitted_at = parse_time(recorded.at("submitted_at"));
  if (recorded.contains("snapshot"))
    attempt.snapshot =
        Snapshot{recorded.at("hash"), folder.root() / recorded.at("snapshot").get<std::string>(),
                 recorded.at("files"), recorded.at("bytes")};
  if (recorded.contains("refusal")) {
    const json& refusal = recorded.at("refusal");
    attempt.refusal = Refusal{refusal.at("reason"), refusal.at("message"), refusal.at("next_step"),
                              refusal.value("entry", "")};
  }
  return attempt;
}

}  // namespace

json class_json(const ClassInProgress& taken, const IngestOptions& options, const RunFolder& folder) {
  json students = json::array(), attempts = json::array();
  for (const Student& student : taken.roster.students()) students.push_back(student.to_json());
  for (const auto& [key, group] : taken.groups.all())
    for (const Attempt& attempt : group.attempts) attempts.push_back(attempt_json(taken, group, attempt));
  json result{{"schema", "warpgrade.class.v1"},
              {"run", folder.root().filename().string()},
              {"created_at", format_time(std::time(nullptr))},
              {"source", {{"layout", taken.layout}, {"path", fs::absolute(options.source).string()}}},
              {"attempts_policy", options.attempts},
              {"students", students},
              {"attempts", attempts}};
  result["timezone"] = taken.zone.name();
  if (taken.deadline) result["deadline"] = format_time(*taken.deadline);
  if (!taken.left_aside.empty()) result["left_aside"] = taken.left_aside;
  if (options.rolling) {
    result["rolling"] = true;
    result["seen"] = taken.seen_stamps;
  }
  return result;
}

void restore_class(const json& before, const RunFolder& folder, ClassInProgress& taken) {
  taken.layout = before.at("source").value("layout", "");
  taken.seen_stamps = before.value("seen", json::object());
  for (const json& student : before.at("students")) taken.roster.find_or_add(keys_of(student));
  for (const json& recorded : before.at("attempts")) {
    Attempt attempt = restored(recorded, folder, taken.roster);
    if (!attempt.submission.empty()) taken.groups.keep_id(attempt.submission);
    std::set<std::size_t> members;
    for (const json& member : recorded.at("members")) members.insert(student_of_id(taken.roster, member));
    members.insert(attempt.student);
    taken.groups.of(taken.roster, attempt.student, members).attempts.push_back(std::move(attempt));
  }
}

}  // namespace warpgrade
