// What was taken in: attempts that are new, and the submissions that are to be judged.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "course/ingest/ingest.h"
#include "course/ingest/snapshot.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

Submission submission_of(const RunFolder& folder, const json& attempt,
                         const std::map<std::string, json>& students, const std::string& lab) {
  Submission submission;
  if (attempt.contains("snapshot")) {
    const fs::path snapshot = folder.root() / attempt.at("snapshot").get<std::string>();
    if (!fs::is_directory(snapshot) || snapshot_hash(snapshot) != attempt.at("hash").get<std::string>()) {
      throw UsageError(
          "{} has changed since the class was read in; put the old one back, or read the class in again with "
          "--fresh",
          snapshot.string());
    }
    submission = read_submission(snapshot, lab, Role::kStudent);
    const auto taken = attempt.value("notes", std::vector<std::string>());
    submission.notes.insert(submission.notes.begin(), taken.begin(), taken.end());
  } else {
    const json& refusal = attempt.at("refusal");
    submission.role = Role::kStudent;
    submission.interface = lab + ".h";
    submission.problem =
        fmt::format("{} ({}); {}", refusal.at("message").get<std::string>(),
                    refusal.at("reason").get<std::string>(), refusal.at("next_step").get<std::string>());
  }
  submission.id = attempt.at("submission");
  const json& student = students.at(attempt.at("student").get<std::string>());
  submission.title =
      plain_line(attempt.value("team", student.value("name", student.at("id").get<std::string>())));
  submission.about = json::object();
  for (const char* key :
       {"student", "members", "team", "attempt", "submitted_at", "late_s", "late_marked", "time_is_claimed"})
    if (attempt.contains(key)) submission.about[key] = attempt[key];
  if (attempt.contains("refusal")) submission.about["refused"] = attempt["refusal"].at("reason");
  return submission;
}

}  // namespace

std::vector<json> new_attempts(const json& before, const json& now) {
  std::set<std::pair<std::string, int>> known;
  if (before.is_object())
    for (const json& attempt : before.at("attempts"))
      known.emplace(attempt.at("student"), attempt.at("attempt"));
  std::vector<json> fresh;
  for (const json& attempt : now.at("attempts"))
    if (!known.contains({attempt.at("student"), attempt.at("attempt")})) fresh.push_back(attempt);
  return fresh;
}

std::vector<Submission> class_submissions(const RunFolder& folder, const std::string& lab) {
  const json taken = folder.read_class();
  std::map<std::string, json> students;
  for (const json& student : taken.at("students")) students[student.at("id")] = student;
  std::vector<Submission> submissions;
  for (const json& attempt : taken.at("attempts"))
    if (attempt.contains("submission")) submissions.push_back(submission_of(folder, attempt, students, lab));
  std::sort(submissions.begin(), submissions.end(),
            [](const Submission& a, const Submission& b) { return a.id < b.id; });
  return submissions;
}

}  // namespace warpgrade
