#include "course/ingest/class_file.h"

#include <algorithm>
#include <ctime>
#include <set>
#include <utility>

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

json to_json(const StudentKeys& owner) {
  json result{{"keys", owner.keys}};
  const std::pair<const char*, const std::string&> texts[] = {
      {"name", owner.name},           {"email", owner.email},   {"canvas_id", owner.canvas_id},
      {"moodle_id", owner.moodle_id}, {"github", owner.github}, {"lms_id", owner.lms_id}};
  for (const auto& [key, text] : texts)
    if (!text.empty()) result[key] = text;
  for (const StudentKeys::Reading& reading : owner.readings)
    result["readings"].push_back({{"key", reading.key}, {"name", reading.name}});
  return result;
}

json attempt_json(const ClassInProgress& taken, const Group& group, const Attempt& attempt) {
  const auto& students = taken.roster.students();
  json members = json::array();
  for (std::size_t member : group.members) members.push_back(students[member].id);
  json result{{"student", students[attempt.student].id},
              {"members", members},
              {"attempt", attempt.number},
              {"owners", json::array()},
              {"origin", attempt.raw.origin},
              {"status", attempt.status}};
  for (const StudentKeys& owner : attempt.raw.owners) result["owners"].push_back(to_json(owner));
  if (!group.team.empty()) result["team"] = group.team;
  if (attempt.corrects > 0) result["corrects"] = attempt.corrects;
  if (attempt.arrived_at) result["arrived_at"] = format_time(*attempt.arrived_at);
  if (const auto time = attempt.time()) {
    result["submitted_at"] = format_time(*time);
    if (const auto deadline = deadline_of(taken, group))
      result["late_s"] = std::max<std::int64_t>(0, *time - *deadline);
  }
  if (attempt.raw.late_marked) result["late_marked"] = true;
  if (attempt.raw.time_is_claimed) result["time_is_claimed"] = true;
  if (attempt.raw.time_is_claimed) result["time_is_claimed"] = true;
  if (!attempt.submission.empty())
    result[attempt.judged ? "submission" : "former_submission"] = attempt.submission;
  if (attempt.snapshot) {
    result["snapshot"] = "snapshots/" + attempt.snapshot->hash;
    result["hash"] = attempt.snapshot->hash;
    result["bytes"] = attempt.snapshot->bytes;
    result["files"] = attempt.snapshot->files;
    if (!attempt.snapshot->notes.empty()) result["notes"] = attempt.snapshot->notes;
  }
  if (attempt.refusal) result["refusal"] = attempt.refusal->to_json();
  return result;
}

// What an export called somebody; of a student, what the roster calls them.
StudentKeys keys_of(const json& person) {
  StudentKeys keys;
  keys.keys = person.value("keys", std::vector<std::string>());
  if (person.contains("id")) keys.keys = {person.at("id")};
  keys.name = person.value("name", "");
  keys.email = person.value("email", "");
  keys.canvas_id = person.value("canvas_id", "");
  keys.moodle_id = person.value("moodle_id", "");
  keys.github = person.value("github", "");
  keys.lms_id = person.value("lms_id", "");
  for (const json& reading : person.value("readings", json::array()))
    keys.readings.push_back({reading.at("key"), reading.at("name")});
  return keys;
}

// Runs of earlier versions do not hold what the export called the owners.
std::vector<StudentKeys> owners_of(const json& attempt, const std::map<std::string, const json*>& students) {
  std::vector<StudentKeys> owners;
  for (const json& owner : attempt.value("owners", json::array())) owners.push_back(keys_of(owner));
  if (!owners.empty()) return owners;
  for (const json& member : attempt.at("members")) owners.push_back(keys_of(*students.at(member)));
  if (owners.empty()) owners.push_back(keys_of(*students.at(attempt.at("student"))));
  return owners;
}

Attempt restored(const json& recorded, const RunFolder& folder) {
  Attempt attempt;
  attempt.number = recorded.at("attempt");
  attempt.raw.number = attempt.number;
  attempt.raw.origin = recorded.at("origin");
  attempt.raw.late_marked = recorded.value("late_marked", false);
  attempt.raw.time_is_claimed = recorded.value("time_is_claimed", false);
  attempt.raw.time_is_claimed = recorded.value("time_is_claimed", false);
  attempt.corrects = recorded.value("corrects", 0);
  attempt.judged = recorded.contains("submission");
  attempt.submission = recorded.value("submission", recorded.value("former_submission", ""));
  if (recorded.contains("arrived_at")) attempt.arrived_at = parse_time(recorded.at("arrived_at"));
  if (recorded.contains("submitted_at")) attempt.raw.submitted_at = parse_time(recorded.at("submitted_at"));
  if (recorded.contains("snapshot"))
    attempt.snapshot = Snapshot{
        recorded.at("hash"), folder.root() / recorded.at("snapshot").get<std::string>(), recorded.at("files"),
        recorded.at("bytes"), recorded.value("notes", std::vector<std::string>())};
  if (recorded.contains("refusal")) {
    const json& refusal = recorded.at("refusal");
    attempt.refusal = Refusal{refusal.at("reason"), refusal.at("message"), refusal.at("next_step"),
                              refusal.value("entry", "")};
  }
  return attempt;
}

std::map<std::string, const json*> students_by_id(const json& before) {
  std::map<std::string, const json*> students;
  for (const json& student : before.at("students")) students[student.at("id")] = &student;
  return students;
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
  if (!taken.roster.questions().empty()) result["questions"] = taken.roster.questions();
  for (const auto& [student, until] : taken.extensions) result["extensions"][student] = format_time(until);
  if (!taken.changes.empty()) result["changes"] = taken.changes;
  if (options.rolling) {
    result["rolling"] = true;
    result["seen"] = taken.seen_stamps;
  }
  return result;
}

void restore_class(const json& before, const RunFolder& folder, ClassInProgress& taken) {
  taken.layout = before.at("source").value("layout", "");
  taken.seen_stamps = before.value("seen", json::object());
  taken.changes = before.value("changes", json::array());
  const json extensions = before.value("extensions", json::object());
  for (const auto& [student, until] : extensions.items()) taken.extensions[student] = *parse_time(until);
  const auto students = students_by_id(before);
  // The first pass learns the LMS' numbers, so that the second one finds the same person by name and number.
  for (const json& recorded : before.at("attempts"))
    for (const StudentKeys& owner : owners_of(recorded, students)) taken.roster.find_or_add(owner);
  for (const json& recorded : before.at("attempts")) {
    Attempt attempt = restored(recorded, folder);
    attempt.raw.owners = owners_of(recorded, students);
    attempt.student = taken.roster.find_or_add(attempt.raw.owners[0]);
    // A grading worksheet that comes later knows when it was.
    if (!attempt.raw.submitted_at)
      attempt.raw.submitted_at = taken.roster.students()[attempt.student].submitted_at;
    if (!attempt.submission.empty()) taken.groups.keep_id(attempt.submission);
    std::set<std::size_t> members;
    for (const StudentKeys& owner : attempt.raw.owners) members.insert(taken.roster.find_or_add(owner));
    taken.groups.of(taken.roster, attempt.student, members).attempts.push_back(std::move(attempt));
  }
}

Roster roster_of(const json& before) {
  std::vector<Student> students;
  for (const json& student : before.at("students")) students.push_back(Student::from_json(student));
  std::erase_if(students, [](const Student& student) { return !student.on_roster; });
  return Roster::of(std::move(students));
}

void note_former_ids(const json& before, Roster& roster) {
  std::set<std::string> now;
  for (const Student& student : roster.students()) now.insert(student.id);
  const auto students = students_by_id(before);
  for (const auto& [id, person] : students) {
    const Student was = Student::from_json(*person);
    std::optional<std::size_t> found;
    if (now.contains(id)) {
      for (std::size_t i = 0; i < roster.students().size(); ++i)
        if (roster.students()[i].id == id) found = i;
    } else {
      StudentKeys keys = keys_of(*person);
      keys.keys = {was.email, was.login, was.sis_id, was.name};
      std::erase(keys.keys, "");
      found = roster.find(keys);
      // Somebody who was there under both ids is two people.
      if (found && students.contains(roster.students()[*found].id)) found.reset();
    }
    if (!found) continue;
    for (const std::string& former : was.former_ids) roster.note_former_id(*found, former);
    if (id != roster.students()[*found].id) roster.note_former_id(*found, id);
  }
}

void apply_extensions(ClassInProgress& taken) {
  for (Student& student : taken.roster.students()) {
    for (const std::string& former : student.former_ids)
      if (const auto given = taken.extensions.extract(former)) taken.extensions[student.id] = given.mapped();
    if (const auto given = taken.extensions.find(student.id); given != taken.extensions.end())
      student.deadline = given->second;
  }
}

}  // namespace warpgrade
